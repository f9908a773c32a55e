package gradients

import (
	"fmt"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// The derivative of a loop is a loop that goes through the iterations from the last
// to the first and applies the derivative of the body. That needs values which the
// body computed in each iteration: the inputs of a Mul, the result of a Tanh. There
// are two ways to have them. The derivative may compute the body again, from the
// variables at the start of the iteration. Or the loop itself may keep them. We do
// the second, as TensorFlow's Python does, because an LSTM that computes each step
// twice is a third slower.
//
//	forward:   v0 --body--> v1 --body--> v2 --body--> v3     kept: [k0 k1 k2], in a list for each value
//	backward:  d0 <-body'-- d1 <-body'-- d2 <-body'-- d3
//	                k0           k1           k2
//
// Which values these are is known once the derivative of the body exists. So a loop
// is recorded in four steps:
//
//  1. Import the body into a separate graph, and add its derivative there (analyze).
//  2. Cut that graph in two: the body, and what only the derivative needs. Values
//     that cross the cut are to be kept (cut). A value that is the same in all
//     iterations, such as a weight, need not be.
//  3. Add the loop whose body also pushes the values to lists (record). It takes the
//     place of the original loop.
//  4. When the derivative is wanted, add the loop that pops them (replay).

// recorded is a loop that keeps what its derivative needs.
type recorded struct {
	name    string // name of the operation
	n       int    // number of the original loop's variables
	specs   []graph.Spec
	lists   map[int]graph.Spec // the elements of the variables that are lists, never change, and have known elements
	active  []bool             // whether each variable depends on trained inputs
	inputs  []tfbridge.Output  // inputs of the original loop
	written map[int]graph.Spec // the elements of the variables that are lists to which the body writes
	outputs []tfbridge.Output  // outputs of the loop: the variables, a list for each kept value, the number of iterations
	cut     *cut
}

// record adds a loop that does what a While node does and keeps what its derivative
// needs.
func record(s *graph.Scope, l *library, n *tfproto.NodeDef, inputs []tfbridge.Output, active []bool) (*recorded, error) {
	body, cond := l.functions[n.Attr["body"].GetFunc().GetName()], l.functions[n.Attr["cond"].GetFunc().GetName()]
	if body == nil || cond == nil {
		return nil, millrace.Errorf(millrace.ErrModel, "the loop %s calls a function that the graph does not have", millrace.Quote(n.Name))
	}
	rec := &recorded{n: len(inputs), inputs: inputs, specs: loopSpecs(n, inputs), active: slices.Clone(active), written: map[int]graph.Spec{}}
	err := settleShapes(l, body, rec)
	if err != nil {
		return nil, fmt.Errorf("the loop %s: %w", millrace.Quote(n.Name), err)
	}
	if rec.cut, err = analyze(s, l, body, rec); err != nil {
		return nil, fmt.Errorf("the loop %s: %w", millrace.Quote(n.Name), err)
	}
	specs := slices.Clone(rec.specs)
	initial := slices.Clone(inputs)
	for _, element := range rec.cut.lists() {
		specs = append(specs, graph.Spec{DType: tfbridge.Variant, Shape: tfbridge.ScalarShape()})
		initial = append(initial, emptyList(s, element))
	}
	specs = append(specs, graph.Spec{DType: tfbridge.Int32, Shape: tfbridge.ScalarShape()})
	initial = append(initial, s.Const(int32(0)))
	condition := s.Func("while_cond", specs, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return place(s, l, cond, args[:rec.n])
	})
	step := s.Func("while_body", specs, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return rec.cut.forward(s, args)
	})
	if s.Err() != nil {
		return nil, s.Err()
	}
	attrs := map[string]any{"cond": condition.Attr(), "body": step.Attr(), "output_shapes": graph.Shapes(specs)}
	if p := n.Attr["parallel_iterations"].GetI(); p > 0 {
		attrs["parallel_iterations"] = p
	}
	op := s.AddOperation(tfbridge.OpSpec{Type: n.Op, Name: "while", Attrs: attrs, Input: []tfbridge.Input{tfbridge.OutputList(initial)}})
	if s.Err() != nil {
		return nil, s.Err()
	}
	rec.name, rec.outputs = op.Name(), graph.Outputs(op)
	setShapes(s, rec.outputs, specs)
	return rec, s.Err()
}

// loopSpecs returns the specs of a loop's variables in every iteration.
func loopSpecs(n *tfproto.NodeDef, inputs []tfbridge.Output) []graph.Spec {
	specs := graph.SpecsOf(inputs)
	shapes := n.Attr["output_shapes"].GetList().GetShape()
	for i := range specs {
		specs[i].Shape = tfbridge.Shape{}
		if len(shapes) == len(specs) {
			specs[i].Shape = shapeOf(shapes[i])
		}
	}
	return specs
}

// shapeOf converts a shape.
func shapeOf(p *tfproto.TensorShapeProto) tfbridge.Shape {
	if p.GetUnknownRank() {
		return tfbridge.Shape{}
	}
	dims := make([]int64, len(p.GetDim()))
	for i, d := range p.GetDim() {
		dims[i] = d.GetSize()
	}
	return tfbridge.MakeShape(dims...)
}

// emptyList adds a list without elements.
func emptyList(s *graph.Scope, element graph.Spec) tfbridge.Output {
	return s.Op1("EmptyTensorList", map[string]any{"element_dtype": element.DType}, elementShape(s, element), s.Const(int32(-1)))
}

// elementShape returns the shape of a list's elements as an operation takes it.
func elementShape(s *graph.Scope, p graph.Spec) tfbridge.Output {
	if p.Shape.NumDimensions() < 0 {
		return s.Const(int32(-1))
	}
	return s.Const(narrow(p.Shape.Dims()))
}

// setShapes declares the shapes of outputs.
func setShapes(s *graph.Scope, outputs []tfbridge.Output, specs []graph.Spec) {
	for i, o := range outputs {
		if specs[i].Shape.NumDimensions() >= 0 && s.Err() == nil {
			s.UpdateErr("gradients", s.Graph().SetShape(o, specs[i].Shape))
		}
	}
}

// place adds a function's body on arguments and returns its results. It keeps no values
// for a derivative.
func place(s *graph.Scope, l *library, f *tfproto.FunctionDef, args []tfbridge.Output) []tfbridge.Output {
	results, _ := placeWith(s, l, f, args, nil)
	return results
}

// placeWith is place for arguments that may depend on trained inputs. Loops then keep
// the values that their derivatives need.
func placeWith(s *graph.Scope, l *library, f *tfproto.FunctionDef, args []tfbridge.Output, active []bool) ([]tfbridge.Output, map[string]*recorded) {
	nodes, names, outputs, err := l.flat(f)
	if err == nil && len(names) != len(args) {
		err = millrace.Errorf(millrace.ErrModel, "function %s takes %d arguments and gets %d", millrace.Quote(f.GetSignature().GetName()), len(names), len(args))
	}
	var results []tfbridge.Output
	im := newImporter(s, l)
	if err == nil {
		for i, name := range names {
			im.bind(ref{name, 0}, args[i], i < len(active) && active[i])
		}
		results, err = im.run(nodes, outputs)
	}
	if err != nil {
		s.UpdateErr("gradients", err)
		return nil, nil
	}
	return results, im.loops
}

// flat returns the nodes of a function with all calls inlined, the names of the nodes
// that represent its arguments, and the refs of its results.
func (l *library) flat(f *tfproto.FunctionDef) (nodes []*tfproto.NodeDef, args, results []string, err error) {
	for i := range f.GetSignature().GetInputArg() {
		args = append(args, fmt.Sprintf("argument%d", i))
	}
	b, err := l.instantiate(f, &tfproto.NodeDef{Name: "function"}, args)
	if err != nil {
		return nil, nil, nil, err
	}
	nodes, results, err = l.inline(b.nodes, b.results)
	return nodes, args, results, err
}

// settleActive finds which variables of a loop depend on trained inputs: variables that
// do at the start, and variables that the body computes from these.
func settleActive(l *library, body *tfproto.FunctionDef, rec *recorded) error {
	nodes, args, results, err := l.flat(body)
	if err != nil {
		return err
	}
	if len(args) != rec.n || len(results) != rec.n {
		return millrace.Errorf(millrace.ErrModel, "its body has %d arguments and %d results for %d variables", len(args), len(results), rec.n)
	}
	bound := map[ref]tfbridge.Output{}
	for _, a := range args {
		bound[ref{a, 0}] = tfbridge.Output{}
	}
	ordered, err := sorted(nodes, results, bound)
	if err != nil {
		return err
	}
	for changed := true; changed; {
		changed = false
		depends := map[string]bool{}
		for i, a := range args {
			rec.active[i] = rec.active[i] && differentiable(rec.specs[i].DType)
			depends[a] = rec.active[i]
		}
		on := func(s string) bool { r := parseRef(s); return r.index >= 0 && depends[r.node] }
		for _, n := range ordered {
			depends[n.Name] = !constant[n.Op] && slices.ContainsFunc(n.Input, on)
		}
		for i, r := range results {
			if on(r) && !rec.active[i] && differentiable(rec.specs[i].DType) {
				rec.active[i], changed = true, true
			}
		}
	}
	return nil
}

// analyze adds a loop's body and its derivative to a new graph, and cuts it.
func analyze(s *graph.Scope, l *library, body *tfproto.FunctionDef, rec *recorded) (*cut, error) {
	if err := settleActive(l, body, rec); err != nil {
		return nil, err
	}
	a := graph.NewScope()
	defer a.Graph().Close()
	c := &cut{lib: l, n: rec.n, fixed: map[int]bool{}, counters: map[int]int64{}, args: loopArguments(a, rec)}
	results, loops := placeWith(a, l, body, c.args, rec.active)
	if a.Err() != nil {
		return nil, a.Err()
	}
	for i, r := range results {
		c.results = append(c.results, tensorOf(r))
		c.fixed[i] = tensorOf(origin(r)) == tensorOf(c.args[i])
		if step, ok := increment(origin(r), c.args[i]); ok {
			c.counters[i] = step
		}
		rec.noteWritten(i, c.args[i], origin(r))
	}
	forward := map[string]bool{}
	for _, op := range a.Graph().Operations() {
		forward[op.Name()] = true
	}
	var y, x, dy []tfbridge.Output
	for i, active := range rec.active {
		if active {
			seed := a.SubScope(fmt.Sprintf("derivative%d", i)).Placeholder(rec.specs[i].DType, rec.specs[i].Shape)
			y, x, dy = append(y, results[i]), append(x, c.args[i]), append(dy, seed)
		}
	}
	w := newWalk(a, loops)
	w.lib = l
	dx := w.gradients(y, x, dy)
	if a.Err() != nil {
		return nil, a.Err()
	}
	for i := range dx {
		if dx[i].Op == nil { // the body computes the variable from other inputs
			dx[i] = a.Op1("ZerosLike", nil, x[i])
		}
	}
	if err := c.make(a, forward, dy, dx); err != nil {
		return nil, err
	}
	return c, installFrom(s, a)
}

// increment returns the constant that a sum adds to an integer variable.
func increment(sum, variable tfbridge.Output) (int64, bool) {
	if t := sum.Op.Type(); t != "AddV2" && t != "Add" {
		return 0, false
	}
	in := sum.Op.Inputs()
	for i := range in {
		if tensorOf(origin(in[i])) != tensorOf(variable) {
			continue
		}
		if step, ok := ints(in[1-i]); ok && in[1-i].Shape().NumDimensions() == 0 {
			return step[0], true
		}
	}
	return 0, false
}

// installFrom adds the functions of one scope's graph to another.
func installFrom(s, from *graph.Scope) error {
	functions, err := from.Graph().Functions()
	for _, f := range functions {
		if err == nil {
			s.AddFunctions(f)
			err = s.Err()
		}
		f.Close()
	}
	return err
}
