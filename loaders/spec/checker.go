package spec

import (
	"fmt"

	"millrace"
	"millrace/diag"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// checker is one run of [Check]. Its parts are in the files of the parts of
// the config that they check.
type checker struct {
	o    Options
	spec *Spec
	disk *disk

	config     *Config
	args       *CommonArgs
	examples   *ExampleArgs // nil for a type without them
	padded     *decl.Either[bool, []PaddingConfig]
	ordered    *OrderArgs // nil before the type is known
	inConfig   *decl.Reporter
	inManifest *decl.Reporter
	loose      diag.List // problems of files that are no JSON, or not to be read

	mixed        []mixedDataset           // the datasets of a mixture, in the config's order
	features     map[string]*featureState // nil if the manifest could not be read
	featureNames []string                 // names in the manifest's order
	unnamed      bool                     // a feature's name is wrong; it may be any
	tensors      []*tensorState           // tensors in the config's order
	byName       map[string]*tensorState
	dropped      map[string]string // tensors that a step has removed, with the type of that step
	batchedFrom  int               // index of the first processing step that sees batches, -1 for none
	batched      bool              // the steps that are checked see batches
}

// tensorState is a tensor of the pipeline as it is after the parts that were checked so
// far.
type tensorState struct {
	TensorSpec
	typed     bool           // DType is known
	shaped    bool           // the rank is known
	index     int            // index in checker.tensors
	made      bool           // a secondary feature, not read
	sequence  bool           // chunked_sequence only: the first axis is time
	automatic bool           // chunked_sequence only: an automatic output
	measure   *measuring     // set for types lengths and mask, else nil
	at        *jsonpos.Node  // its entry in the config
	padding   *PaddingConfig // its entry in the padding, nil if it has none
}

func newChecker(path string, o *Options) *checker {
	c := &checker{
		batchedFrom: -1,
		spec:        &Spec{Path: path, Manifest: &Manifest{}}, byName: make(map[string]*tensorState),
		inConfig:   &decl.Reporter{File: path, Class: millrace.ErrConfig, Limit: millrace.ErrLimit},
		inManifest: &decl.Reporter{Class: millrace.ErrConfig, Limit: millrace.ErrLimit},
	}
	if o != nil {
		c.o = *o
		c.spec.Model = o.Model
		c.inConfig.Further = FurtherSteps(o.Steps)
	}
	var err error
	c.disk, err = newDisk(dirOf(path), c.o.Root)
	switch {
	case err != nil && c.disk.dir != "":
		c.fail(c.o.Root, "open the root, which no path may leave", err)
	case err != nil:
		c.fail(path, "find the config's folder", err)
	}
	return c
}

// problems returns all problems in file order, each with its cause.
func (c *checker) problems() diag.List {
	all := append(c.inConfig.Finish(), c.inManifest.Finish()...)
	all = append(all, c.loose...)
	all.Sort(c.spec.Path, c.spec.ManifestPath, c.spec.ListPath)
	for _, d := range all {
		c.setCause(d)
	}
	return all
}

// setCause makes errors.As find a *millrace.Error in a problem.
func (c *checker) setCause(d *diag.Diagnostic) {
	class, _ := d.Class.(millrace.Class)
	e := millrace.Errorf(class, "%s", d.Msg)
	if d.Hint != "" {
		e.Msg += "; " + d.Hint
	}
	e.Op, e.Loader, e.Key = "check", c.spec.Path, d.Key
	e.File, e.Line, e.Column, e.Err = d.File, d.Line, d.Column, d.Cause
	d.Cause = e
}

// pads reports whether the config pads: all tensors or none.
func (c *checker) pads() bool {
	p := c.padded
	if p.B != nil {
		return len(*p.B) > 0
	}
	return p.A != nil && *p.A
}

// batchedShape returns the shape of a tensor in a batch, without the batch
// dimension: as padded.
func (c *checker) batchedShape(t *tensorState) []int64 {
	if t.index < len(c.spec.Padding) {
		return PaddedShape(t.Shape, c.spec.Padding[t.index].Shape)
	}
	return t.Shape
}

// leastRows returns the least number of rows of a full batch.
func (c *checker) leastRows() int64 {
	if c.examples == nil {
		return 1
	}
	return c.spec.BatchSize
}

// Options are the options of [Check]. Nil means the defaults.
type Options struct {
	Model *ModelNames // the model that the config must suit; nil = any
	Keep  []string    // tensors that the config must provide in addition to the model's inputs

	// KeptFor names the user of a tensor of Keep for messages: "metric \"accuracy\"".
	KeptFor map[string]string

	Replace     []Replacement // arguments that replace the config's
	Mode        string        // ModeTrain or ModeEval, instead of the config's; "" = the config's, or else ModeTrain
	Seed        *int64        // instead of the config's seed; nil = the config's, or else a fresh one
	Root        string        // a folder that no path may lead out of; "" = any path
	MemoryLimit int64         // bytes that the buffers of the pipeline may hold; 0 = not checked

	// Steps are further types of processing steps. A name that package catalog has keeps its
	// meaning.
	Steps []processing.Type

	// ManifestOnly ignores the data files: they may be missing, and the Spec has none.
	// The Spec still describes the processing of a record from any source.
	ManifestOnly bool
}

// mixedDataset is what is known of one dataset of a mixture.
type mixedDataset struct {
	config   *MixtureConfig
	features map[string]*featureState // nil if the manifest could not be read
	unnamed  bool                     // a feature's name is wrong; it may be any
	manifest *Manifest
	path     string // where the config names the manifest
}

// measuring is a measured tensor while the config is checked: what it
// measures is known after the processing steps only.
type measuring struct {
	Measure
	at *decl.Object // its arguments
}

// featureState is what is known of a feature of the manifest. Wrong parts of the manifest
// count as unknown, so that each is reported once.
type featureState struct {
	Feature
	typed  bool // DType is known
	shaped bool // Shape, VarLen and Len are known
}

// fail reports a file that cannot be read.
func (c *checker) fail(file, doing string, err error) {
	c.loose = append(c.loose, &diag.Diagnostic{
		File: file, Msg: fmt.Sprintf("%s: %v", doing, reason(err)), Class: classOf(err), Cause: err,
	})
}

// value reads a value of a dtype; an absent value is zero. It reports a value that does
// not fit the dtype.
func (c *checker) value(at *jsonpos.Node, d tfbridge.DataType, v Value) (any, bool) {
	if v == nil {
		return ZeroValue(d), true
	}
	if v.Kind() == jsonpos.Null {
		return nil, false // reported when it was read
	}
	value, want := processing.ReadValue(v, d)
	if want == "" {
		return value, true
	}
	report := c.inConfig.Report(at, "must be %s for dtype %q, got %s", want, d.String(), decl.Show(v))
	if v.Kind() == jsonpos.String && processing.KindOf(d) != processing.StringKind {
		if inner, err := jsonpos.Parse([]byte(v.Text())); err == nil && processing.Readable(inner, d) {
			report.Hint = fmt.Sprintf("write %s without quotes", decl.Show(inner))
		}
	}
	return nil, false
}
