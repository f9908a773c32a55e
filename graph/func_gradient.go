package graph

import (
	"fmt"

	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// trainable reports whether values of a data type have derivatives.
func trainable(dt tfbridge.DataType) bool {
	switch dt {
	case tfbridge.Half, tfbridge.Bfloat16, tfbridge.Float, tfbridge.Double, tfbridge.Complex64, tfbridge.Complex128:
		return true
	}
	return false
}

// trainables counts the outputs that have derivatives.
func trainables(outputs []tfbridge.Output) int {
	n := 0
	for _, o := range outputs {
		if trainable(o.DataType()) {
			n++
		}
	}
	return n
}

// gradient makes the function that is the derivative of a body that was already made
// into a function. The caller closes it. It takes the inputs and a derivative for each
// result, and returns a derivative for each input. Tensors that are not floating point
// have a zero derivative; a tensor of a data type without a zero is returned instead.
// The derivative runs the body again.
//
// gradient adds operations to the body. It fails if TensorFlow has no derivative
// for one of the body's operations; do not use the body afterwards.
func (d *draft) gradient(name string, inputs []tfbridge.Output) (*tfbridge.Function, *Func, error) {
	s := d.scope.root()
	var dys []tfbridge.Output
	for i, y := range d.results {
		dys = append(dys, s.argument(fmt.Sprintf("dy%d", i), SpecOf(y)))
	}
	var ys, xs, seeds []tfbridge.Output
	for i, y := range d.results {
		if trainable(y.DataType()) {
			ys, seeds = append(ys, y), append(seeds, dys[i])
		}
	}
	for _, x := range inputs {
		if !trainable(x.DataType()) {
			continue
		}
		// The derivative along this path is zero, so no result needs to depend on x.
		xs, ys, seeds = append(xs, x), append(ys, Identity(s, x)), append(seeds, ZerosLike(s, x))
	}
	var dxs []tfbridge.Output
	if len(xs) > 0 {
		err := s.derivable(ys, xs)
		if err == nil {
			err = s.Err()
		}
		if err == nil {
			dxs, err = s.graph.AddGradients("gradients", ys, xs, seeds)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	var results []tfbridge.Output
	for i, x := range inputs {
		dx := x
		if trainable(x.DataType()) {
			dx, dxs = dxs[0], dxs[1:]
		} else if hasZero(x.DataType()) {
			dx = ZerosLike(s, x)
		}
		results = append(results, s.one(tfbridge.OpSpec{Type: "Identity", Name: fmt.Sprintf("dx%d", i), Input: []tfbridge.Input{dx}}))
	}
	if err := d.scope.Err(); err != nil {
		return nil, nil, err
	}
	fn, err := d.function(name+"_gradient", append(inputs[:len(inputs):len(inputs)], dys...), results)
	if err != nil {
		return nil, nil, err
	}
	f := &Func{Name: fn.Name(), In: append(SpecsOf(inputs), SpecsOf(dys)...), Out: SpecsOf(results), Stateful: d.state != stateless}
	return fn, f, nil
}

// addGradient is gradient that adds the function to the graphs.
func (d *draft) addGradient(name string, inputs []tfbridge.Output) (*Func, error) {
	fn, f, err := d.gradient(name, inputs)
	if err != nil {
		return nil, err
	}
	defer fn.Close()
	return f, d.parent.install(fn, nil)
}

// hasZero reports whether ZerosLike works for a data type.
func hasZero(dt tfbridge.DataType) bool {
	return dt != tfbridge.Resource && dt != tfbridge.Variant && dt != tfbridge.String
}

// wrap makes a function of the operations that forward adds. Its derivative
// consists of those that backward adds. wrap returns a call of the function. This
// is the only form of control flow that TensorFlow's C API can differentiate.
// backward gets the inputs and a derivative for each result, and returns a
// derivative for each input.
func (s *Scope) wrap(name string, inputs []tfbridge.Output, forward, backward func(s *Scope, args []tfbridge.Output) []tfbridge.Output) []tfbridge.Output {
	in := SpecsOf(inputs)
	f := s.draft(name, in, nil, func(s *Scope, args, _ []tfbridge.Output) []tfbridge.Output { return forward(s, args) })
	defer f.close()
	if s.Err() != nil {
		return unbuilt.Outputs(unbuilt.Many)
	}
	out := SpecsOf(f.results)
	g := s.draft(name+"_gradient", append(in[:len(in):len(in)], out...), nil, func(s *Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return backward(s, args)
	})
	defer g.close()
	if s.Err() != nil {
		return unbuilt.Outputs(len(out))
	}
	gradient, err := g.function(name+"_gradient", g.args, g.results)
	if err != nil {
		s.UpdateErr(name, err)
		return unbuilt.Outputs(len(out))
	}
	defer gradient.Close()
	fname := f.defineWith(name, f.args, gradient)
	if fname == "" {
		return unbuilt.Outputs(len(out))
	}
	op := s.AddOperation(tfbridge.OpSpec{
		Type:  callType(f.state != stateless),
		Name:  name,
		Input: []tfbridge.Input{tfbridge.OutputList(s.constant(inputs))},
		Attrs: map[string]any{"f": tfbridge.FuncName(fname), "Tout": DTypes(out)},
	})
	return s.shaped(Outputs(op), out)
}

// constant stops the gradient at inputs without derivatives, so that operations
// before them need none.
func (s *Scope) constant(inputs []tfbridge.Output) []tfbridge.Output {
	out := make([]tfbridge.Output, len(inputs))
	for i, x := range inputs {
		out[i] = x
		if dt := x.DataType(); !trainable(dt) && hasZero(dt) {
			out[i] = s.Op1("StopGradient", nil, x)
		}
	}
	return out
}

// shaped sets the shapes of outputs for which TensorFlow does not infer them.
func (s *Scope) shaped(outputs []tfbridge.Output, specs []Spec) []tfbridge.Output {
	if s.Err() != nil {
		return unbuilt.Outputs(len(specs))
	}
	for i, o := range outputs {
		if specs[i].Shape.NumDimensions() < 0 {
			continue
		}
		if err := s.graph.SetShape(o, specs[i].Shape); err != nil {
			s.UpdateErr(o.String(), err)
			break
		}
	}
	return outputs
}
