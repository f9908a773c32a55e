package configdoc

import (
	"fmt"
	"slices"
	"strings"

	run "millrace/estimator/spec"
	"millrace/loaders/decl"
	"millrace/loaders/spec"
)

// document is a kind of file that the page describes.
type document struct {
	kind  string // the first word of its name in the samples
	title string
	intro string
	root  any // a pointer to the struct that declares it
}

// runDocuments are the kinds of file that the page of run configs describes.
var runDocuments = []document{{
	"run", "Run config", "A run config says what to train, on which data, how to evaluate it and when to stop.", &run.Config{},
}}

var documents = []document{
	{"loader", "Loader config", "A loader config says which dataset to read and how to make batches of it.", &spec.Config{}},
	{"manifest", "Manifest", "A manifest says what the records of a dataset hold. In a dataset of type `dir` it is the file `__manifest__.json` at the folder's top.", &spec.ManifestConfig{}},
	{"model", "Model names", "A file of this form stands for a model when only its names matter (`--model FILE`).", &spec.ModelConfig{}},
}

// entry is one key of one kind of file.
type entry struct {
	decl.Declaration
	path     string   // "args.dataset.args.data_dir"; [] stands for the elements of a list
	variants []string // the loader types that have this key; nil if all have it
	chooser  string   // the path of the key that holds the type

	examples []example
	errors   []string
}

// heading returns the entry's title: its path, and the types it belongs to
// where other types have no such key.
func (e *entry) heading() string {
	h := "`" + e.path + "`"
	if len(e.variants) > 0 {
		h += " of `" + strings.Join(e.variants, "`, `") + "`"
	}
	return h
}

// object is a place where an object is written: its path and the structs it
// may be read as, one for each variant.
type object struct {
	path     string
	chooser  string
	variants []decl.Variant
}

// entries lists the keys of a kind of file. The keys of an object follow the
// object.
func entries(d document) []*entry {
	return collect(object{variants: []decl.Variant{{New: func() any { return d.root }}}})
}

// collect lists the keys of an object and of the objects in it. Variants that
// declare a key alike share its entry.
func collect(o object) []*entry {
	var own, nested []*entry
	for _, v := range o.variants {
		for _, d := range decl.Describe(v.New()) {
			if i := slices.IndexFunc(own, func(e *entry) bool { return e.Key == d.Key && e.Doc == d.Doc }); i >= 0 {
				own[i].variants = append(own[i].variants, v.Name)
				continue
			}
			e := &entry{Declaration: d, path: join(o.path, d.Key), chooser: o.chooser, variants: []string{v.Name}}
			own = append(own, e)
			nested = append(nested, collectIn(o.path, e)...)
		}
	}
	for _, e := range own {
		if len(e.variants) == len(o.variants) {
			e.variants = nil
		}
	}
	return append(own, nested...)
}

// collectIn lists the keys of the objects that a key's value is or holds.
func collectIn(parent string, e *entry) []*entry {
	var out []*entry
	for _, of := range e.Objects {
		_, inPlace := of.(*spec.Config) // a loader config, whose keys have a page
		_, loss := of.(*run.LossConfig)
		if inPlace || loss && e.Key == "losses" { // the keys of losses are those that loss has
			continue
		}
		path := e.path
		if strings.Contains(e.Type, "list of objects") {
			path += "[]"
		}
		out = append(out, collect(object{path: path, variants: []decl.Variant{{New: func() any { return of }}}})...)
	}
	if len(e.Variants) > 0 {
		out = append(out, collect(object{path: e.path, chooser: join(parent, e.Chooser), variants: e.Variants})...)
	}
	return out
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return fmt.Sprintf("%s.%s", path, key)
}
