package lookup_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/lookup"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// table is either kind of table.
type table interface {
	Lookup(s *graph.Scope, keys tfbridge.Output) tfbridge.Output
	Size(s *graph.Scope) tfbridge.Output
}

// makers build the tables that testdata/make.py builds, and the keys to look up.
type makers struct{ s *graph.Scope }

func (m makers) text() tfbridge.Output {
	return m.s.Const([][]string{{"mill", "sea"}, {"water", ""}})
}

func (m makers) numbers() tfbridge.Output { return m.s.Const([]int64{7, 8, 1 << 40, -3}) }

func (m makers) words() *lookup.Initializer {
	return lookup.KeyValueTensorInitializer(m.s.Const([]string{"mill", "race", "water"}), m.s.Const([]int64{0, 1, 2}))
}

func (m makers) ids() *lookup.Initializer {
	return lookup.KeyValueTensorInitializer(m.s.Const([]int64{7, 8}), m.s.Const([]int64{0, 1}))
}

var (
	line   = lookup.Column{DType: tfbridge.String, Index: lookup.WholeLine}
	number = lookup.Column{DType: tfbridge.Int64, Index: lookup.LineNumber}
)

func (m makers) file(name string, key, value lookup.Column, o *lookup.TextFileOptions) *lookup.Initializer {
	return lookup.TextFileInitializer(m.s.Const(filepath.Join("testdata", name)), key, value, o)
}

// numbered fills a table with the lines of a file, as a dataset.
func (m makers) numbered() *lookup.Initializer {
	lines := dataset.TextLines(m.s, m.s.Const(filepath.Join("testdata", "vocab.txt")), nil)
	return lookup.DatasetInitializer(lines.Enumerate(0).Map("swap", func(_ *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{args[1], args[0]}
	}, nil))
}

func (m makers) hash(init *lookup.Initializer, defaultValue any) table {
	return lookup.NewStaticHashTable(m.s, init, m.s.Const(defaultValue))
}

func (m makers) vocabulary(init *lookup.Initializer, buckets int64) table {
	return lookup.NewStaticVocabularyTable(m.s, init, buckets)
}

// cases are the tables by the names that they have in parity.json.
var cases = map[string]func(makers) (table, tfbridge.Output){
	"strings": func(m makers) (table, tfbridge.Output) { return m.hash(m.words(), int64(-1)), m.text() },
	"numbers": func(m makers) (table, tfbridge.Output) {
		names := lookup.KeyValueTensorInitializer(m.s.Const([]int64{7, 8}), m.s.Const([]string{"seven", "eight"}))
		return m.hash(names, "none"), m.numbers()
	},
	"lines": func(m makers) (table, tfbridge.Output) {
		return m.hash(m.file("vocab.txt", line, number, nil), int64(-7)), m.text()
	},
	"line numbers": func(m makers) (table, tfbridge.Output) {
		return m.hash(m.file("vocab.txt", number, line, nil), "none"), m.s.Const([]int64{3, 2, 4})
	},
	"first lines": func(m makers) (table, tfbridge.Output) {
		return m.hash(m.file("vocab.txt", line, number, &lookup.TextFileOptions{VocabSize: 2}), int64(-7)), m.text()
	},
	"offset": func(m makers) (table, tfbridge.Output) {
		return m.hash(m.file("vocab.txt", line, number, &lookup.TextFileOptions{Offset: 100}), int64(-7)), m.text()
	},
	"columns": func(m makers) (table, tfbridge.Output) {
		name, price := lookup.Column{DType: tfbridge.String, Index: 1}, lookup.Column{DType: tfbridge.Float, Index: 2}
		return m.hash(m.file("prices.csv", name, price, &lookup.TextFileOptions{Delimiter: ","}), float32(0)), m.text()
	},
	"vocabulary": func(m makers) (table, tfbridge.Output) { return m.vocabulary(m.words(), 5), m.text() },
	"vocabulary of lines": func(m makers) (table, tfbridge.Output) {
		return m.vocabulary(m.file("vocab.txt", line, number, nil), 1000), m.text()
	},
	"vocabulary of numbers": func(m makers) (table, tfbridge.Output) { return m.vocabulary(m.ids(), 10), m.numbers() },
	"vocabulary of int32": func(m makers) (table, tfbridge.Output) {
		return m.vocabulary(m.ids(), 10), m.s.Const([]int32{7, 8, 9, -3})
	},
	"dataset":                 func(m makers) (table, tfbridge.Output) { return m.hash(m.numbered(), int64(-7)), m.text() },
	"vocabulary of a dataset": func(m makers) (table, tfbridge.Output) { return m.vocabulary(m.numbered(), 5), m.text() },
	"hashes":                  func(m makers) (table, tfbridge.Output) { return m.vocabulary(nil, 1000), m.text() },
}

// found is the result of looking keys up in a table.
type found struct {
	Values any     `json:"values"`
	Shape  []int64 `json:"shape"`
	Size   int64   `json:"size"`
}

// Tables give the same results as in Python, in a graph and in a function of a dataset.
func TestParity(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "parity.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]found
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if len(want) != len(cases) {
		t.Errorf("%d tables were recorded, %d are built", len(want), len(cases))
	}
	for name, build := range cases {
		t.Run(name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			table, keys := build(makers{s})
			values, err := graph.Exec(t.Context(), s, []tfbridge.Output{table.Lookup(s, keys), table.Size(s)}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			check(t, "in a graph", values, want[name])
			d := dataset.FromTensors(s, keys).Map("lookup", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
				return []tfbridge.Output{table.Lookup(s, args[0]), table.Size(s)}
			}, nil)
			for range 2 { // a second loop has its own session
				for values, err := range d.All(t.Context(), nil) {
					if err != nil {
						t.Fatal(err)
					}
					check(t, "in a dataset", values, want[name])
				}
			}
		})
	}
}

// check compares the values and the size of a table with the recorded ones, and closes
// the tensors.
func check(t *testing.T, where string, values []*tfbridge.Tensor, want found) {
	t.Helper()
	got := found{Shape: values[0].Shape(), Size: values[1].Value().(int64)}
	flat, err := json.Marshal(flatten(values[0].Value()))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(flat, &got.Values); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", where, diff)
	}
	for _, v := range values {
		v.Close()
	}
}

// flatten returns a tensor's value as a flat list.
func flatten(v any) any {
	switch v := v.(type) {
	case [][]int64:
		return append(append([]int64{}, v[0]...), v[1]...)
	case [][]float32:
		return append(append([]float32{}, v[0]...), v[1]...)
	}
	return v
}

// An iterator with a table can be saved, and its Init may run again.
func TestIteratorWithTable(t *testing.T) {
	s := graphtest.NewScope(t)
	m := makers{s}
	vocabulary := m.vocabulary(m.words(), 5)
	it := dataset.FromSlices(s, s.Const([]string{"race", "mill", "water"})).
		Map("ids", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
			return []tfbridge.Output{vocabulary.Lookup(s, args[0])}
		}, nil).Iterator("it")
	g, err := s.Finalize()
	if err != nil {
		t.Fatal(err)
	}
	sess, err := tfbridge.NewSession(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	next := func() int64 {
		t.Helper()
		values, err := sess.Run(nil, it.Element, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer values[0].Close()
		return values[0].Value().(int64)
	}
	start := func() {
		t.Helper()
		if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
			t.Fatal(err)
		}
	}
	start()
	first := next()
	state, err := it.SaveState(t.Context(), sess)
	if err != nil {
		t.Fatal(err)
	}
	start()
	again := next()
	if err := it.RestoreState(t.Context(), sess, state); err != nil {
		t.Fatal(err)
	}
	if got := []int64{first, again, next(), next()}; !cmp.Equal(got, []int64{1, 1, 0, 2}) {
		t.Errorf("got %v, want [1 1 0 2]", got)
	}
}

// Impossible tables are reported while building, by name.
func TestWrongTables(t *testing.T) {
	tests := []struct {
		name  string
		build func(m makers)
		want  string
	}{
		{"no initializer", func(m makers) { m.hash(nil, int64(0)) }, "the initializer is nil"},
		{"default", func(m makers) { m.hash(m.words(), "x") }, "the default value is of type string, the values of type int64"},
		{"keys", func(m makers) { m.hash(m.words(), int64(0)).Lookup(m.s, m.numbers()) }, "the keys are of type int64, those of the table of type string"},
		{"buckets", func(m makers) { m.vocabulary(m.words(), 0) }, "must be at least 1; StaticHashTable has none"},
		{"values", func(m makers) {
			m.vocabulary(lookup.KeyValueTensorInitializer(m.text(), m.text()), 1)
		}, "the values are of type string, must be int64"},
		{"key type", func(m makers) {
			m.vocabulary(lookup.KeyValueTensorInitializer(m.s.Const([]float32{1}), m.s.Const([]int64{1})), 1)
		}, "the keys are of type float32, must be string or int64"},
		{"line", func(m makers) {
			m.hash(m.file("vocab.txt", lookup.Column{DType: tfbridge.Int64, Index: lookup.WholeLine}, number, nil), int64(0))
		}, "the key is the whole line, a string, and not a int64"},
		{"line number", func(m makers) {
			m.hash(m.file("vocab.txt", line, lookup.Column{DType: tfbridge.Int32, Index: lookup.LineNumber}, nil), int32(0))
		}, "the value is the line number, an int64, and not a int32"},
		{"column", func(m makers) {
			m.vocabulary(m.file("vocab.txt", lookup.Column{DType: tfbridge.String, Index: -3}, number, nil), 1)
		}, "the key's column is -3"},
		{"delimiter", func(m makers) {
			m.hash(m.file("vocab.txt", line, number, &lookup.TextFileOptions{Delimiter: "::"}), int64(0))
		}, `the delimiter "::" has 2 bytes`},
		{"in a function", func(m makers) {
			dataset.Range(m.s, 0, 1, 1).Map("f", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
				inner := makers{s}
				return []tfbridge.Output{inner.hash(inner.ids(), int64(0)).Lookup(s, args[0])}
			}, nil)
		}, "a function cannot initialize anything"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			tt.build(makers{s})
			if err := s.Err(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

// A missing file is an error with its name, when the table is filled.
func TestMissingVocabulary(t *testing.T) {
	s := graphtest.NewScope(t)
	table := makers{s}.hash(makers{s}.file("nowhere.txt", line, number, nil), int64(0))
	_, err := graph.Exec(t.Context(), s, []tfbridge.Output{table.Size(s)}, nil, nil)
	if err == nil || !strings.Contains(fmt.Sprint(err), "nowhere.txt") {
		t.Errorf("got %v", err)
	}
}
