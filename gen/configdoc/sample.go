package configdoc

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// example is a value of a key in a sample.
type example struct {
	sample *sample
	file   string // the file of the sample
	steps  []any  // the keys (string) and indices (int) that lead to it
	value  any
}

// sample is a config with its dataset that the checker accepts.
type sample struct {
	name string
	dir  string // where it is unpacked
	docs map[string]any
}

// readSamples unpacks the archives that a pattern matches, each into a folder
// below dir. Links names folders that each sample has links to, by the names of the links.
func readSamples(pattern, dir string, links map[string]string) ([]*sample, error) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no sample %s: %w", pattern, err)
	}
	var out []*sample
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		s := &sample{name: name, dir: filepath.Join(dir, name), docs: map[string]any{}}
		for _, f := range a.Files {
			if err := s.unpack(f); err != nil {
				return nil, fmt.Errorf("sample %s: %w", path, err)
			}
		}
		for link, to := range links {
			if err := os.Symlink(to, filepath.Join(s.dir, link)); err != nil {
				return nil, fmt.Errorf("sample %s: %w", path, err)
			}
		}
		out = append(out, s)
	}
	return out, nil
}

func (s *sample) unpack(f txtar.File) error {
	if filepath.Ext(f.Name) == ".json" {
		doc, err := decode(f.Data)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		s.docs[f.Name] = doc
	}
	return s.write(f.Name, f.Data)
}

func (s *sample) write(name string, data []byte) error {
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// decode reads JSON and keeps numbers as text.
func decode(data []byte) (any, error) {
	var v any
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	return v, d.Decode(&v)
}

// kindOf returns the kind of file that a sample's file is.
func kindOf(name string) string {
	for _, kind := range []string{"manifest", "model", "songs", "run"} {
		if strings.Contains(filepath.Base(name), kind) {
			return kind
		}
	}
	return "loader"
}

// findExamples records, for each entry, the places of its key in the samples.
func findExamples(kind string, all []*entry, samples []*sample) {
	for _, s := range samples {
		for _, name := range sortedKeys(s.docs) {
			doc := s.docs[name]
			if kindOf(name) == kind {
				walk(doc, nil, func(steps []any, value any) {
					for _, e := range all {
						if e.path == pathOf(steps) && e.matches(doc, steps) {
							e.examples = append(e.examples, example{s, name, slices.Clone(steps), value})
						}
					}
				})
			}
		}
	}
}

// matches reports whether a place in a document belongs to the entry and not
// to another variant's.
func (e *entry) matches(doc any, steps []any) bool {
	if e.variants == nil || e.chooser == "" {
		return true
	}
	last := e.chooser[strings.LastIndex(e.chooser, ".")+1:]
	at := append(slices.Clone(steps[:len(steps)-2]), last)
	choice, _ := get(doc, at).(string)
	return slices.Contains(e.variants, choice)
}

// walk visits every value of an object, in the order of its keys.
func walk(v any, steps []any, visit func(steps []any, value any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			at := append(slices.Clip(steps), key)
			visit(at, v[key])
			walk(v[key], at, visit)
		}
	case []any:
		for i, e := range v {
			walk(e, append(slices.Clip(steps), i), visit)
		}
	}
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// get returns the value at a place, nil if there is none.
func get(v any, steps []any) any {
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[s]
		case int:
			v = v.([]any)[s]
		}
	}
	return v
}

// pathOf returns the path of a place, [] for each index.
func pathOf(steps []any) string {
	path := ""
	for _, s := range steps {
		if key, ok := s.(string); ok {
			path = join(path, key)
		} else {
			path += "[]"
		}
	}
	return path
}

var index = regexp.MustCompile(`\[\d+\]`)

// elementless returns a path of a message with [] for each index.
func elementless(path string) string { return index.ReplaceAllString(path, "[]") }
