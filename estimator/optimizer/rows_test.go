package optimizer_test

import (
	"encoding/json"
	"os"
	"testing"

	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/tfbridge"
)

// recordedRows is what testdata/record_rows.py wrote.
type recordedRows struct {
	Rows, Size int64
	Initial    []float32
	Steps      []struct {
		Indices []int64
		Values  []float32
	}
	Cases map[string][][]float32 // the variable after each step
}

// rowsCases are the optimizers of testdata/record_rows.py.
var rowsCases = map[string]func() (optimizer.Optimizer, float64){
	"sgd":              sgd(optimizer.Constant(0.1), nil),
	"sgd_decay":        cases["sgd_decay"],
	"sgd_clip":         func() (optimizer.Optimizer, float64) { o, _ := sgd(optimizer.Constant(0.1), nil)(); return o, 0.5 },
	"momentum":         cases["momentum"],
	"nesterov":         cases["nesterov"],
	"adam":             adam(0, func(*optimizer.Adam) {}),
	"adam_amsgrad":     cases["adam_amsgrad"],
	"adamw":            adamW,
	"adagrad":          adagrad,
	"rmsprop":          cases["rmsprop"],
	"rmsprop_centered": cases["rmsprop_centered"],
	"rmsprop_momentum": cases["rmsprop_momentum"],
	"lion":             cases["lion"],
	"adadelta":         cases["adadelta"],
	"adamax":           cases["adamax"],
	"accumulate": sgd(optimizer.Constant(0.1), func(o *optimizer.SGD) {
		o.GradientAccumulationSteps = 2
	}),
	"clipvalue":    cases["clipvalue"],
	"rmsprop_both": cases["rmsprop_both"],
}

// Each optimizer gives the same result with gradients of rows as Keras's with
// IndexedSlices.
func TestKerasRows(t *testing.T) {
	data, err := os.ReadFile("testdata/rows.json")
	if err != nil {
		t.Fatal(err)
	}
	var want recordedRows
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	if len(rowsCases) != len(want.Cases) {
		t.Errorf("%d optimizers, %d are recorded", len(rowsCases), len(want.Cases))
	}
	for name, make := range rowsCases {
		t.Run(name, func(t *testing.T) {
			o, clip := make()
			step := trainRows(t, &want, o, clip)
			for i, after := range want.Cases[name] {
				near(t, name, step(i), after)
			}
		})
	}
}

// trainRows trains a variable by gradients of rows. The result makes the next step and
// returns the variable.
func trainRows(t *testing.T, r *recordedRows, o optimizer.Optimizer, clip float64) func(i int) []float32 {
	t.Helper()
	s := graph.NewScope()
	t.Cleanup(func() { s.Graph().Close() })
	v := optimizer.Variable{Name: "embeddings", DType: tfbridge.Float, Shape: tfbridge.MakeShape(r.Rows, r.Size)}
	v.Handle = s.Op1("VarHandleOp", map[string]any{"dtype": v.DType, "shape": v.Shape, "shared_name": v.Name})
	count := s.Op1("VarHandleOp", map[string]any{"dtype": tfbridge.Int64, "shape": tfbridge.ScalarShape(), "shared_name": "step"})
	values := s.Placeholder(tfbridge.Float, tfbridge.MakeShape(-1, r.Size))
	indices := s.Placeholder(tfbridge.Int64, tfbridge.MakeShape(-1))
	gradients := []optimizer.Gradient{{Variable: v, Value: values, Indices: indices}}
	update := optimizer.Apply(s, o, count, gradients, &optimizer.ApplyOptions{ClipNorm: clip})
	set := func(handle, value tfbridge.Output) *tfbridge.Operation {
		return s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{handle, value}})
	}
	initial := graph.Reshape(s, s.Const(r.Initial), s.Const([]int64{r.Rows, r.Size}))
	start := []*tfbridge.Operation{set(count, s.Const(int64(0))), set(v.Handle, initial)}
	read := s.Op1("ReadVariableOp", map[string]any{"dtype": v.DType}, v.Handle)
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := &training{session: session, read: map[tfbridge.Output]tfbridge.Output{v.Handle: read}}
	t.Cleanup(func() { session.Close() })
	if _, err := session.Run(nil, nil, append(start, update.Initialize)); err != nil {
		t.Fatal(err)
	}
	return func(i int) []float32 {
		feeds := map[tfbridge.Output]*tfbridge.Tensor{}
		for o, value := range map[tfbridge.Output]any{indices: r.Steps[i].Indices, values: rowsOf(r.Steps[i].Values, r.Size)} {
			feeds[o], err = tfbridge.NewTensor(value)
			if err != nil {
				t.Fatal(err)
			}
			defer feeds[o].Close()
		}
		if _, err := session.Run(feeds, nil, []*tfbridge.Operation{update.Op}); err != nil {
			t.Fatal(err)
		}
		return tr.value(t, v)
	}
}

// rowsOf cuts values into rows.
func rowsOf(values []float32, size int64) [][]float32 {
	var rows [][]float32
	for i := int64(0); i < int64(len(values)); i += size {
		rows = append(rows, values[i:i+size])
	}
	return rows
}
