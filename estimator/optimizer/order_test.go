package optimizer_test

import (
	"slices"
	"testing"

	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/tfbridge"
)

// An update waits for all reads and for its own gradient, and for the gradients of others
// only where it needs them or the reads are not known.
func TestUpdateOrder(t *testing.T) {
	check := func(name string, o optimizer.Optimizer, opts *optimizer.ApplyOptions, reads, others bool) {
		t.Helper()
		s := graph.NewScope()
		defer s.Graph().Close()
		variable := func(name string, dt tfbridge.DataType, shape tfbridge.Shape) tfbridge.Output {
			return s.Op1("VarHandleOp", map[string]any{"dtype": dt, "shape": shape, "shared_name": name})
		}
		shape := tfbridge.MakeShape(2)
		var pairs []optimizer.Gradient
		for _, name := range []string{"a", "b"} {
			v := optimizer.Variable{Name: name, Handle: variable(name, tfbridge.Float, shape), DType: tfbridge.Float, Shape: shape}
			pairs = append(pairs, optimizer.Gradient{Variable: v, Value: s.Op1("Neg", nil, s.Const([]float32{1, 2}))})
		}
		read := s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Float}, pairs[0].Variable.Handle).Op
		if reads {
			opts.After = []*tfbridge.Operation{read}
		}
		optimizer.Apply(s, o, variable("count", tfbridge.Int64, tfbridge.ScalarShape()), pairs, opts)
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		for i, p := range pairs {
			for _, c := range p.Variable.Handle.Consumers() {
				if c.Op.Type() == "ReadVariableOp" {
					continue
				}
				before := ancestors(c.Op)
				own, other := slices.Contains(before, p.Value.Op.Name()), slices.Contains(before, pairs[1-i].Value.Op.Name())
				if !own || other != others || slices.Contains(before, read.Name()) != reads {
					t.Errorf("%s: %s of %s runs after %q", name, c.Op.Type(), p.Variable.Name, before)
				}
			}
		}
	}
	check("reads are known", optimizer.NewSGD(), &optimizer.ApplyOptions{}, true, false)
	check("reads are not known", optimizer.NewSGD(), &optimizer.ApplyOptions{}, false, true)
	check("clipped together", optimizer.NewSGD(), &optimizer.ApplyOptions{ClipNorm: 1}, true, true)
}

// ancestors returns the names of all operations that run before one.
func ancestors(op *tfbridge.Operation) (names []string) {
	pending := []*tfbridge.Operation{op}
	for len(pending) > 0 {
		op, pending = pending[0], pending[1:]
		before := op.ControlInputs()
		for _, in := range op.Inputs() {
			before = append(before, in.Op)
		}
		for _, b := range before {
			if !slices.Contains(names, b.Name()) {
				names, pending = append(names, b.Name()), append(pending, b)
			}
		}
	}
	return names
}
