package graph

import (
	"fmt"
	"maps"
	"slices"

	"millrace/tfbridge"
)

// WhileOptions say more about a loop. Nil and the zero value are the defaults.
type WhileOptions struct {
	// Shapes are what the shapes of the variables have in common in all
	// rounds, for loops in which they change; nil means those of the initial
	// values.
	Shapes []tfbridge.Shape
	// MaxIterations ends the loop after so many rounds; 0 means never.
	MaxIterations int64
	// ParallelIterations is how many rounds TensorFlow may run at a time
	// where they do not depend on each other; 0 means 10.
	ParallelIterations int
}

// loopCond and loopBody build the parts of a loop.
type (
	loopCond = func(s *Scope, vars []tfbridge.Output) tfbridge.Output
	loopBody = func(s *Scope, vars []tfbridge.Output) []tfbridge.Output
)

// While adds a loop: as long as cond, a bool of the variables, is true, body
// makes new values of them, as many and of the same data types. It returns the
// last values. Both may use outputs of the graphs around them, whose values
// stay as they are.
//
// [Gradients] goes through it, if it does through body, and unless cond or
// body have state that matters: random numbers, writes. For it the loop runs
// once more and keeps the variables of every round in memory.
//
// It adds a While or StatelessWhile.
func While(s *Scope, initial []tfbridge.Output, cond func(s *Scope, vars []tfbridge.Output) tfbridge.Output,
	body func(s *Scope, vars []tfbridge.Output) []tfbridge.Output, o *WhileOptions) []tfbridge.Output {
	if s.Err() != nil {
		return nil
	}
	if o == nil {
		o = &WhileOptions{}
	}
	switch {
	case len(initial) == 0:
		s.fail("while", "there are no variables")
		return nil
	case cond == nil || body == nil:
		s.fail("while", "the condition or the body is nil")
		return nil
	case o.MaxIterations < 0 || o.ParallelIterations < 0:
		s.fail("while", "%d iterations at most, %d at a time: neither can be negative", o.MaxIterations, o.ParallelIterations)
		return nil
	case o.MaxIterations > 0:
		return limited(s, initial, cond, body, o)
	}
	in, ok := loopSpecs(s, initial, o)
	if !ok {
		return nil
	}
	c := s.draft("while_cond", in, nil, func(s *Scope, vars, _ []tfbridge.Output) []tfbridge.Output {
		return []tfbridge.Output{cond(s, vars)}
	})
	defer c.close()
	if s.Err() != nil {
		return nil
	}
	b := s.draft("while_body", in, nil, func(s *Scope, vars, _ []tfbridge.Output) []tfbridge.Output { return body(s, vars) })
	defer b.close()
	if s.Err() != nil || !checkLoop(s, in, c, b) {
		return nil
	}
	l := &loop{vars: in, parallel: o.ParallelIterations}
	inputs := slices.Concat(initial, l.define(c, b))
	if s.Err() != nil {
		return nil
	}
	if l.gradient == nil {
		return s.without(l.add(s, inputs), l.why)
	}
	return s.wrap("while", inputs, l.add, l.addGradient)
}

// limited adds a loop with a variable more, which counts the rounds.
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
	if len(outputs) == 0 {
		return nil
	}
	return outputs[1:]
}

// lowered returns the attributes of a loop with one that makes TensorFlow
// replace it by control flow of its executor, unless they say something else.
// The kernel calls itself for every round, and many rounds overflow the stack.
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
			s.fail("while", "variable %d is %v at first, which is not of the shape %v", i, in[i], o.Shapes[i])
			return nil, false
		}
		in[i].Shape = o.Shapes[i]
	}
	return in, true
}

// within says whether all tensors of shape a are of shape b.
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

// checkLoop checks what condition and body of a loop return.
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
			s.fail("while", "variable %d is %v and the body makes it %v; if its shape changes say so in Shapes", i, in[i], got)
			return false
		}
	}
	return true
}

// loop is a loop whose condition and body are functions of the variables and
// the captures; the body returns the captures as they are.
type loop struct {
	vars     []Spec
	all      []Spec // the variables, then the captures
	cond     *Func
	body     *Func
	gradient *Func // of the body; nil if there is none
	why      error // there is none
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
	if s.Err() != nil {
		return nil
	}
	return outputs[:len(l.vars)]
}

// while adds a While with given functions.
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
