package train_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/tf1/train"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// A batch has the names of its examples. Shapes of named tensors are sorted by name, after
// the shapes of tensors without a name.
func TestNamedTensors(t *testing.T) {
	s := graphtest.NewScope(t)
	p := &pipelines{s, ""}
	count := upTo(s, 5)
	open := func(dims ...int64) tfbridge.Output { // zeros whose shape only Shapes defines
		return s.Op1("PlaceholderWithDefault", map[string]any{"shape": tfbridge.Shape{}}, s.Zeros(tfbridge.Float, dims...))
	}
	examples := train.Tensors{
		Dense:       []tfbridge.Output{graph.Cast(s, count, tfbridge.Int32)},
		Named:       map[string]tfbridge.Output{"narrow": open(1), "wide": open(3), "count": count},
		NamedSparse: map[string]graph.SparseTensor{"ones": p.sparse(graph.Cast(s, count, tfbridge.Int32), false).Sparse[0]},
	}
	o := &train.BatchOptions{}
	scalar := tfbridge.ScalarShape()
	o.Shapes = []tfbridge.Shape{scalar, scalar, tfbridge.MakeShape(1), tfbridge.MakeShape(3)}
	batch := train.Batch(s, examples, 2, o)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, x := range batch.Named {
		got[name] = graph.SpecOf(x).String()
	}
	want := map[string]string{"count": "int64[2]", "narrow": "float32[2, 1]", "wide": "float32[2, 3]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the batch (-want +got)\n%s", diff)
	}
	if len(batch.Dense) != 1 || len(batch.Sparse) != 0 || len(batch.NamedSparse) != 1 {
		t.Fatalf("the batch is %v", batch)
	}
	m, err := train.NewMonitoredSession(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	fetches := []tfbridge.Output{batch.Dense[0], batch.Named["count"], batch.NamedSparse["ones"].Shape}
	var values [][]any
	for step, err := range m.Steps(t.Context(), fetches, nil) {
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, []any{step[0].Value(), step[1].Value(), step[2].Value()})
	}
	if len(values) != 2 {
		t.Fatalf("%d batches, want 2", len(values))
	}
	if diff := cmp.Diff([]any{[]int32{2, 3}, []int64{2, 3}, values[1][2]}, values[1]); diff != "" {
		t.Errorf("the second batch (-want +got)\n%s", diff)
	}
	if shape, ok := values[1][2].([]int64); !ok || len(shape) != 2 || shape[0] != 2 {
		t.Errorf("the sparse batch has shape %v, want 2 rows", values[1][2])
	}
}
