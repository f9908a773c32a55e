package lookup_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/lookup"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// mutable is either kind of mutable table.
type mutable interface {
	table
	Insert(s *graph.Scope, keys, values tfbridge.Output) *tfbridge.Operation
	Remove(s *graph.Scope, keys tfbridge.Output) *tfbridge.Operation
	Export(s *graph.Scope) (keys, values tfbridge.Output)
}

// Keys are added and removed, in a graph and in the functions of datasets. A new
// session begins with an empty table.
func TestMutableTables(t *testing.T) {
	for name, build := range map[string]func(s *graph.Scope) mutable{
		"hash": func(s *graph.Scope) mutable { return lookup.NewMutableHashTable(s, tfbridge.Int64, s.Const(int64(0))) },
		"dense": func(s *graph.Scope) mutable {
			return lookup.NewDenseHashTable(s, lookup.DenseHashTableKeys{Empty: s.Const(int64(-1)), Deleted: s.Const(int64(-2))}, s.Const(int64(0)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			words := build(s)
			keys := s.Const([]int64{1, 2, 3})
			insert := words.Insert(s, keys, s.Const([]int64{10, 20, 30}))
			again := words.Insert(s, s.Const([]int64{2}), s.Const([]int64{22}))
			remove := words.Remove(s, s.Const([]int64{1, 9}))
			found := words.Lookup(s, keys)
			size := words.Size(s)
			ids, texts := words.Export(s)
			it := dataset.FromSlices(s, keys).Map("lookup", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
				return []tfbridge.Output{words.Lookup(s, args[0])}
			}, nil).Iterator("it")
			if s.Err() != nil {
				t.Fatal(s.Err())
			}
			for range 2 {
				sess, err := tfbridge.NewSession(s.Graph(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer sess.Close()
				fetch := func(outputs ...tfbridge.Output) (values []any) {
					t.Helper()
					out, err := sess.Run(nil, outputs, nil)
					if err != nil {
						t.Fatal(err)
					}
					for _, x := range out {
						values = append(values, x.Value())
						x.Close()
					}
					return values
				}
				run := func(op *tfbridge.Operation) {
					t.Helper()
					if _, err := sess.Run(nil, nil, []*tfbridge.Operation{op}); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff([]any{[]int64{0, 0, 0}, int64(0)}, fetch(found, size)); diff != "" {
					t.Errorf("empty (-want +got)\n%s", diff)
				}
				run(insert)
				run(again)
				if diff := cmp.Diff([]any{[]int64{10, 22, 30}, int64(3)}, fetch(found, size)); diff != "" {
					t.Errorf("filled (-want +got)\n%s", diff)
				}
				run(remove)
				run(it.Init)
				if got := fetch(it.Element[0]); got[0] != int64(0) {
					t.Errorf("a dataset found %v for a key that was removed", got)
				}
				if got := fetch(it.Element[0]); got[0] != int64(22) {
					t.Errorf("a dataset found %v", got)
				}
				pairs := map[int64]int64{}
				exported := fetch(ids, texts)
				for i, id := range exported[0].([]int64) {
					pairs[id] = exported[1].([]int64)[i]
				}
				if !maps.Equal(pairs, map[int64]int64{2: 22, 3: 30}) {
					t.Errorf("exported %v", pairs)
				}
			}
		})
	}
}

// The values of a table may be tensors.
func TestTablesOfVectors(t *testing.T) {
	s := graphtest.NewScope(t)
	table := lookup.NewMutableHashTable(s, tfbridge.String, s.Const([]float32{0, 0}))
	insert := table.Insert(s, s.Const([]string{"a"}), s.Const([][]float32{{1, 2}}))
	after := s.WithControlDependencies(insert)
	out, err := graph.Exec(t.Context(), s, []tfbridge.Output{table.Lookup(after, s.Const([]string{"a", "b"}))}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out[0].Close()
	if diff := cmp.Diff([][]float32{{1, 2}, {0, 0}}, out[0].Value()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestWrongMutableTables(t *testing.T) {
	for want, build := range map[string]func(s *graph.Scope){
		"the keys are of type string, those of the table of type int64": func(s *graph.Scope) {
			lookup.NewMutableHashTable(s, tfbridge.Int64, s.Const("x")).Lookup(s, s.Const("a"))
		},
		"the values are of type float32, those of the table of type string": func(s *graph.Scope) {
			lookup.NewMutableHashTable(s, tfbridge.Int64, s.Const("x")).Insert(s, s.Const(int64(1)), s.Const(float32(1)))
		},
		"the empty key is of type int64, the deleted key of type string": func(s *graph.Scope) {
			lookup.NewDenseHashTable(s, lookup.DenseHashTableKeys{Empty: s.Const(int64(1)), Deleted: s.Const("x")}, s.Const("x"))
		},
		"must be two scalars: a key and its value": func(s *graph.Scope) {
			lookup.NewStaticHashTable(s, lookup.DatasetInitializer(dataset.Range(s, 0, 3, 1)), s.Const("x"))
		},
	} {
		s := graphtest.NewScope(t)
		build(s)
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	s := graphtest.NewScope(t)
	twice := dataset.Zip(s, dataset.FromSlices(s, s.Const([]string{"a", "a"})), dataset.Range(s, 0, 2, 1))
	table := lookup.NewStaticHashTable(s, lookup.DatasetInitializer(twice), s.Const(int64(-1)))
	_, err := graph.Exec(t.Context(), s, []tfbridge.Output{table.Size(s)}, nil, nil)
	if err == nil {
		t.Error("a key that comes twice with two values is taken")
	}
}
