package gradients

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// whileRule is the rule of loops.
func whileRule(c *call) []tfbridge.Output {
	rec := c.walk.loops[c.name]
	if rec == nil {
		if rec = again(c); c.Err() != nil {
			return nil
		}
	}
	var dy []tfbridge.Output
	for i, active := range rec.active {
		if active {
			dy = append(dy, c.d(i))
		}
	}
	if c.Err() != nil {
		return nil
	}
	dx := rec.replay(c.Scope.SubScope("while_gradient"), dy)
	if c.Err() != nil {
		return nil
	}
	results := make([]tfbridge.Output, len(c.inputs))
	for i, active := range rec.active {
		if active {
			results[i], dx = dx[0], dx[1:]
		}
	}
	return results
}

// again adds a loop once more, in the form that keeps the values that its derivative
// needs.
func again(c *call) *recorded {
	lib, n := c.library(), nodeDef(c)
	if c.Err() != nil {
		return nil
	}
	for _, f := range []string{"cond", "body"} {
		if mayRunAgain(c, lib.functions[n.Attr[f].GetFunc().GetName()]); c.Err() != nil {
			return nil
		}
	}
	rec, err := record(c.Scope, lib, n, c.inputs, c.active)
	c.UpdateErr("gradients", err)
	return rec
}

// nodeDef returns the operation as a NodeDef.
func nodeDef(c *call) *tfproto.NodeDef {
	data, err := c.op.NodeDef()
	n := &tfproto.NodeDef{}
	if err == nil {
		err = proto.Unmarshal(data, n)
	}
	c.UpdateErr("gradients", err)
	return n
}

// mayRunAgain makes the scope fail if a function may return something else when it runs
// a second time.
func mayRunAgain(c *call, f *tfproto.FunctionDef) {
	nodes, _, _, err := c.walk.lib.flat(f)
	if err != nil {
		c.UpdateErr("gradients", err)
	} else if c.walk.lib.hasState(nodes) {
		c.fail("it has state that matters, such as random numbers or writes, and would have to run again")
	}
}

// replay adds the loop that goes through the iterations from the last to the first. dy
// are the derivatives of the active variables after the loop; the results are their
// derivatives before it.
func (rec *recorded) replay(s *graph.Scope, dy []tfbridge.Output) []tfbridge.Output {
	c := rec.cut
	scalar := tfbridge.ScalarShape()
	specs := []graph.Spec{{DType: tfbridge.Int32, Shape: scalar}}
	inputs := []tfbridge.Output{rec.outputs[len(rec.outputs)-1]}
	for i, active := range rec.active {
		if active {
			specs = append(specs, rec.specs[i])
		}
	}
	inputs = append(inputs, dy...)
	lists := c.lists()
	for k := range lists {
		specs = append(specs, graph.Spec{DType: tfbridge.Variant, Shape: scalar})
		inputs = append(inputs, rec.outputs[rec.n+k])
	}
	shared := slices.Sorted(maps.Keys(c.shared))
	shared = slices.DeleteFunc(shared, func(i int) bool {
		_, known := rec.start(i)
		return known
	})
	for _, i := range shared {
		specs = append(specs, rec.specs[i])
		inputs = append(inputs, rec.inputs[i])
	}
	d, k := len(dy), len(lists)
	cond := s.Func("while_gradient_cond", specs, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{graph.Greater(s, args[0], s.Const(int32(0)))}
	})
	body := s.Func("while_gradient_body", specs, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		values, shorter := c.pop(s, args[1+d:1+d+k])
		left := graph.Sub(s, args[0], s.Const(int32(1)))
		same := map[int]tfbridge.Output{}
		for j, i := range shared {
			same[i] = args[1+d+k+j]
		}
		for i, step := range c.counters {
			if c.shared[i] {
				same[i] = rec.counter(s, counter{i, step, left, same[i]})
			}
		}
		if s.Err() != nil {
			return nil
		}
		dx := c.backward(s, args[1:1+d], values, same)
		return slices.Concat([]tfbridge.Output{left}, dx, shorter, args[1+d+k:])
	})
	if s.Err() != nil {
		return nil
	}
	op := s.AddOperation(tfbridge.OpSpec{
		Type: "StatelessWhile", Name: "while", Input: []tfbridge.Input{tfbridge.OutputList(inputs)},
		Attrs: map[string]any{"cond": cond.Attr(), "body": body.Attr(), "output_shapes": graph.Shapes(specs)},
	})
	outputs := graph.Outputs(op)
	setShapes(s, outputs, specs)
	if s.Err() != nil {
		return nil
	}
	return outputs[1 : 1+d]
}

// start returns the first value of a counter if the graph shows it.
func (rec *recorded) start(i int) (int64, bool) {
	if _, counts := rec.cut.counters[i]; !counts {
		return 0, false
	}
	first, ok := ints(rec.inputs[i])
	if !ok || rec.inputs[i].Shape().NumDimensions() != 0 {
		return 0, false
	}
	return first[0], true
}

// counter is a variable that grows by step in each iteration. index is the number of the
// iteration, from 0.
type counter struct {
	i     int
	step  int64
	index tfbridge.Output
	first tfbridge.Output // the first value, unless the graph shows it
}

// counter returns the value of a counter in an iteration.
func (rec *recorded) counter(s *graph.Scope, c counter) tfbridge.Output {
	dt := rec.specs[c.i].DType
	v := c.index
	if dt != tfbridge.Int32 {
		v = graph.Cast(s, v, dt)
	}
	if c.step != 1 {
		v = graph.Mul(s, v, graph.Cast(s, s.Const(c.step), dt))
	}
	first, known := rec.start(c.i)
	switch {
	case !known:
		return graph.Add(s, v, c.first)
	case first != 0:
		return graph.Add(s, v, graph.Cast(s, s.Const(first), dt))
	}
	return v
}

// pop takes the last element from each list.
func (c *cut) pop(s *graph.Scope, lists []tfbridge.Output) (values, shorter []tfbridge.Output) {
	for i, spec := range c.lists() {
		popped := s.Op("TensorListPopBack", map[string]any{"element_dtype": spec.DType}, lists[i], elementShape(s, spec))
		if s.Err() != nil {
			return nil, nil
		}
		setShapes(s, popped[1:], []graph.Spec{spec})
		values, shorter = append(values, popped[1]), append(shorter, popped[0])
	}
	return values, shorter
}

// callRule is the rule of a call: it adds the function's body again, and its
// derivative.
func callRule(c *call) []tfbridge.Output {
	lib, n := c.library(), nodeDef(c)
	if c.Err() != nil {
		return nil
	}
	f := lib.callee(n)
	if f == nil {
		return c.fail("the graph does not have the function that it calls")
	}
	if mayRunAgain(c, f); c.Err() != nil {
		return nil
	}
	return bodyGradient(c.Scope.SubScope("call_gradient"), lib, f, &bodyCall{c.inputs, c.active, c.dy})
}

// bodyCall is the inputs of a function, which of them are active, and derivatives for
// its results.
type bodyCall struct {
	args   []tfbridge.Output
	active []bool
	dy     []tfbridge.Output // the zero Output means zero
}

// bodyGradient adds a function's body and returns the derivatives of the arguments
// that are active: partial ones, with all other arguments fixed. So each argument gets
// an Identity. Without it, an argument that is passed twice or computed from another
// argument would get the derivatives of both, and the caller would count them again.
func bodyGradient(s *graph.Scope, lib *library, f *tfproto.FunctionDef, b *bodyCall) []tfbridge.Output {
	args := slices.Clone(b.args)
	for i, active := range b.active {
		if active {
			args[i] = s.Op1("Identity", nil, args[i])
		}
	}
	if s.Err() != nil {
		return nil
	}
	results, loops := placeWith(s, lib, f, args, b.active)
	if s.Err() != nil {
		return nil
	}
	var y, dy, x []tfbridge.Output
	for i, d := range b.dy {
		if d.Op != nil {
			y, dy = append(y, results[i]), append(dy, d)
		}
	}
	for i, active := range b.active {
		if active {
			x = append(x, args[i])
		}
	}
	w := newWalk(s, loops)
	w.lib = lib
	found := w.gradients(y, x, dy)
	dx := make([]tfbridge.Output, len(b.args))
	for i, active := range b.active {
		if active && s.Err() == nil {
			dx[i], found = found[0], found[1:]
		}
	}
	return dx
}

// branchRule is the rule of conditions: a condition on the derivatives of the
// branches. The branch that is taken runs once more.
func branchRule(c *call) []tfbridge.Output {
	lib, n := c.library(), nodeDef(c)
	if c.Err() != nil {
		return nil
	}
	names := []string{n.Attr["then_branch"].GetFunc().GetName(), n.Attr["else_branch"].GetFunc().GetName()}
	attrs := []string{"then_branch", "else_branch"}
	if branches := n.Attr["branches"].GetList().GetFunc(); len(branches) > 0 {
		names, attrs = nil, nil
		for _, b := range branches {
			names = append(names, b.GetName())
		}
	}
	b := newBranches(c)
	var functions []tfbridge.FuncName
	for i, name := range names {
		f := lib.functions[name]
		if f == nil {
			return c.fail("the graph does not have the function %q", name)
		}
		if mayRunAgain(c, f); c.Err() != nil {
			return nil
		}
		fn := b.function(fmt.Sprintf("branch%d_gradient", i), f)
		if c.Err() != nil {
			return nil
		}
		functions = append(functions, fn.Attr())
	}
	m := map[string]any{"Tout": graph.DTypes(b.out), "output_shapes": graph.Shapes(b.out)}
	if attrs == nil {
		m["branches"] = functions
	} else {
		m[attrs[0]], m[attrs[1]] = functions[0], functions[1]
	}
	op := c.AddOperation(tfbridge.OpSpec{Type: c.typ, Name: "gradient", Attrs: m, Input: []tfbridge.Input{c.x(0), tfbridge.OutputList(b.inputs)}})
	outputs := graph.Outputs(op)
	setShapes(c.Scope, outputs, b.out)
	dx := make([]tfbridge.Output, len(c.inputs))
	for i, active := range c.active {
		if active && c.Err() == nil {
			dx[i], outputs = outputs[0], outputs[1:]
		}
	}
	return dx
}

// branches is the derivative of a condition.
type branches struct {
	call   *call
	args   int               // number of the branches' arguments
	known  []int             // the results that have a derivative
	inputs []tfbridge.Output // the arguments, then those derivatives
	out    []graph.Spec      // specs of the derivatives of the active arguments
}

func newBranches(c *call) *branches {
	b := &branches{call: c, args: len(c.inputs) - 1, inputs: slices.Clone(c.inputs[1:])}
	for i, d := range c.dy {
		if d.Op != nil {
			b.known = append(b.known, i)
			b.inputs = append(b.inputs, d)
		}
	}
	for i, active := range c.active {
		if active {
			b.out = append(b.out, graph.SpecOf(c.x(i)))
		}
	}
	return b
}

// function makes the function that computes the derivative of one branch.
func (b *branches) function(name string, f *tfproto.FunctionDef) *graph.Func {
	c := b.call
	return c.Scope.Func(name, graph.SpecsOf(b.inputs), nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		body := &bodyCall{args: args[:b.args], active: c.active[1:], dy: make([]tfbridge.Output, len(c.dy))}
		for j, i := range b.known {
			body.dy[i] = args[b.args+j]
		}
		var out []tfbridge.Output
		for i, d := range bodyGradient(s, c.walk.lib, f, body) {
			switch {
			case !body.active[i] || s.Err() != nil:
				continue
			case d.Op == nil:
				d = graph.ZerosLike(s, body.args[i])
			}
			out = append(out, d)
		}
		return out
	})
}
