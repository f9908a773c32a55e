package graph

import (
	"fmt"
	"maps"
	"slices"

	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// # Loops
//
// TensorFlow has two forms of a loop. The functional form is one operation,
// While, whose condition and body are functions. The lowered form consists of
// Enter, Merge, Switch, NextIteration and Exit, which the executor runs.
//
// We build the functional form, because everything else works on it: functions
// may contain it, tf.data runs it, and a derivative needs condition and body as
// functions. But its kernel calls itself for every iteration, and many
// iterations overflow the stack. So each loop carries the attribute
// _lower_using_switch_merge. With it TensorFlow replaces the loop by the lowered
// form when it prepares a session's graph, and then an iteration takes no stack.
//
//	initial ---> While(cond, body) ---> last values
//	captures -->                   (captures pass through unchanged)
//
// Condition and body may use outputs of the graphs around them. We call such an
// output a capture. A function cannot refer to another graph, so captures
// become further variables of the loop, which the body returns unchanged.
//
// The derivative. TensorFlow's C API differentiates no While, but it does
// differentiate the call of a function that has a derivative of its own. So a
// loop that can be differentiated is wrapped in such a function
// (func_gradient.go), and its derivative is two loops (while_gradient.go).

// WhileOptions are the options of While. Nil and the zero value mean the
// defaults.
type WhileOptions struct {
	// Shapes are the shapes that the variables have in every iteration, with -1
	// for dimensions that change; nil means the shapes of the initial values.
	Shapes []tfbridge.Shape
	// MaxIterations ends the loop after that many iterations; 0 means no limit.
	MaxIterations int64
	// ParallelIterations is how many independent iterations TensorFlow may run
	// in parallel; 0 means 10.
	ParallelIterations int
}

// loopCond and loopBody build the parts of a loop.
type (
	loopCond = func(s *Scope, vars []tfbridge.Output) tfbridge.Output
	loopBody = func(s *Scope, vars []tfbridge.Output) []tfbridge.Output
)

// While adds a loop and returns the last values of its variables. As long as
// cond, a bool computed from the variables, is true, body computes their new
// values, with the same number and data types. Both may use outputs of the
// graphs around them, which do not change during the loop.
//
// [Gradients] differentiates the loop if it can differentiate body and neither
// cond nor body has state that matters, such as random numbers or writes. The
// derivative runs the loop once more and keeps the variables of every iteration
// in memory.
//
// It adds a While or StatelessWhile.
func While(s *Scope, initial []tfbridge.Output, cond func(s *Scope, vars []tfbridge.Output) tfbridge.Output,
	body func(s *Scope, vars []tfbridge.Output) []tfbridge.Output, o *WhileOptions) []tfbridge.Output {
	if s.Err() != nil {
		return unbuilt.Outputs(len(initial))
	}
	if o == nil {
		o = &WhileOptions{}
	}
	switch {
	case len(initial) == 0:
		s.fail("while", "there are no variables")
		return unbuilt.Outputs(len(initial))
	case cond == nil || body == nil:
		s.fail("while", "the condition or the body is nil")
		return unbuilt.Outputs(len(initial))
	case o.MaxIterations < 0 || o.ParallelIterations < 0:
		s.fail("while", "MaxIterations is %d and ParallelIterations %d; neither may be negative", o.MaxIterations, o.ParallelIterations)
		return unbuilt.Outputs(len(initial))
	case o.MaxIterations > 0:
		return limited(s, initial, cond, body, o)
	}
	in, ok := loopSpecs(s, initial, o)
	if !ok {
		return unbuilt.Outputs(len(initial))
	}
	c := s.draft("while_cond", in, nil, func(s *Scope, vars, _ []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{cond(s, vars)}
	})
	defer c.close()
	if s.Err() != nil {
		return unbuilt.Outputs(len(initial))
	}
	b := s.draft("while_body", in, nil, func(s *Scope, vars, _ []tfbridge.Output) []tfbridge.Output { return body(s, vars) })
	defer b.close()
	if s.Err() != nil || !checkLoop(s, in, c, b) {
		return unbuilt.Outputs(len(initial))
	}
	l := &loop{vars: in, parallel: o.ParallelIterations}
	inputs := slices.Concat(initial, l.define(c, b))
	if s.Err() != nil {
		return unbuilt.Outputs(len(initial))
	}
	if l.gradient == nil {
		return s.without(l.add(s, inputs), l.why)
	}
	return s.wrap("while", inputs, l.add, l.addGradient)
}

// limited adds a loop with one more variable, which counts the iterations.
func limited(s *Scope, initial []tfbridge.Output, cond loopCond, body loopBody, o *WhileOptions) []tfbridge.Output {
	counted := *o
	counted.MaxIterations = 0
	if o.Shapes != nil {
		counted.Shapes = append([]tfbridge.Shape{tfbridge.ScalarShape()}, o.Shapes...)
	}
	outputs := While(s, append([]tfbridge.Output{s.Const(int64(0))}, initial...),
		func(s *Scope, vars []tfbridge.Output) tfbridge.Output {
			return LogicalAnd(s, Less(s, vars[0], s.Const(o.MaxIterations)), cond(s, vars[1:]))
		},
		func(s *Scope, vars []tfbridge.Output) []tfbridge.Output {
			return append([]tfbridge.Output{Add(s, vars[0], s.Const(int64(1)))}, body(s, vars[1:])...)
		}, &counted)
	return outputs[1:]
}

// lowered adds the attribute _lower_using_switch_merge to those of a loop, unless
// they have it.
func lowered(attrs map[string]any) map[string]any {
	const name = "_lower_using_switch_merge"
	if _, ok := attrs[name]; ok {
		return attrs
	}
	all := map[string]any{name: true}
	maps.Copy(all, attrs)
	return all
}

// loopSpecs returns the specs of a loop's variables.
func loopSpecs(s *Scope, initial []tfbridge.Output, o *WhileOptions) ([]Spec, bool) {
	if o.Shapes != nil && len(o.Shapes) != len(initial) {
		s.fail("while", "%d shapes for %d variables", len(o.Shapes), len(initial))
		return nil, false
	}
	for i, x := range initial {
		if _, ok := s.local(fmt.Sprintf("while: variable %d", i), x); !ok {
			return nil, false
		}
	}
	in := SpecsOf(initial)
	for i := range o.Shapes {
		if !within(in[i].Shape, o.Shapes[i]) {
			s.fail("while", "variable %d is %v initially, which does not fit the shape %v", i, in[i], o.Shapes[i])
			return nil, false
		}
		in[i].Shape = o.Shapes[i]
	}
	return in, true
}

// within reports whether every tensor of shape a also has shape b.
func within(a, b tfbridge.Shape) bool {
	n := b.NumDimensions()
	if n < 0 {
		return true
	}
	if a.NumDimensions() != n {
		return false
	}
	for i := range n {
		if b.Size(i) >= 0 && b.Size(i) != a.Size(i) {
			return false
		}
	}
	return true
}

// checkLoop checks what the condition and the body of a loop return.
func checkLoop(s *Scope, in []Spec, c, b *draft) bool {
	if got := SpecOf(c.results[0]); got.DType != tfbridge.Bool || got.Shape.NumDimensions() > 0 {
		s.fail("while", "the condition is %v and must be a bool", got)
		return false
	}
	if len(b.results) != len(in) {
		s.fail("while", "the body returns %d values for %d variables", len(b.results), len(in))
		return false
	}
	for i, got := range SpecsOf(b.results) {
		switch {
		case got.DType != in[i].DType:
			s.fail("while", "variable %d is %v and the body makes it %v", i, in[i].DType, got.DType)
			return false
		case !within(got.Shape, in[i].Shape):
			s.fail("while", "variable %d is %v and the body makes it %v; if its shape changes, set Shapes", i, in[i], got)
			return false
		}
	}
	return true
}

// loop is a loop whose condition and body are functions of the variables and the
// captures. The body returns the captures unchanged.
type loop struct {
	vars     []Spec
	all      []Spec // the variables, then the captures
	cond     *Func
	body     *Func
	gradient *Func // gradient of the body; nil if it has none
	why      error // why gradient is nil
	parallel int
}

// define makes the functions of a loop and returns the captures.
func (l *loop) define(c, b *draft) []tfbridge.Output {
	captures := union([]*draft{c, b})
	l.all = slices.Concat(l.vars, SpecsOf(captures))
	inputs := b.inputs(captures)
	for i, x := range inputs[len(l.vars):] {
		b.results = append(b.results, b.scope.root().one(tfbridge.OpSpec{Type: "Identity", Name: fmt.Sprintf("kept%d", i), Input: []tfbridge.Input{x}}))
	}
	state := max(c.state, b.state)
	l.cond = &Func{Name: c.define("while_cond", captures), Out: SpecsOf(c.results), Stateful: state != stateless}
	l.body = &Func{Name: b.define("while_body", captures), Out: l.all, Stateful: state != stateless}
	switch {
	case b.parent.Err() != nil || trainables(b.results) == 0:
	case state == stateful:
		l.why = errState()
	default:
		l.gradient, l.why = b.addGradient("while_body", inputs)
	}
	return captures
}

// add adds the loop on the variables and captures, and returns the variables.
func (l *loop) add(s *Scope, inputs []tfbridge.Output) []tfbridge.Output {
	outputs := l.while(s, l.cond, l.body, l.all, inputs)
	return outputs[:len(l.vars)]
}

// while adds a While or StatelessWhile with the given functions.
func (l *loop) while(s *Scope, cond, body *Func, specs []Spec, inputs []tfbridge.Output) []tfbridge.Output {
	typ := "StatelessWhile"
	if cond.Stateful || body.Stateful {
		typ = "While"
	}
	attrs := map[string]any{"cond": cond.Attr(), "body": body.Attr(), "output_shapes": Shapes(specs)}
	if l.parallel > 0 {
		attrs["parallel_iterations"] = l.parallel
	}
	op := s.AddOperation(tfbridge.OpSpec{Type: typ, Name: "while", Attrs: attrs, Input: []tfbridge.Input{tfbridge.OutputList(inputs)}})
	return s.shaped(Outputs(op), specs)
}
