package graph

import (
	"fmt"

	"millrace"
	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// Branch builds one branch of [Cond] or [Case], in its own scope. It may use outputs of
// the graphs around it.
type Branch func(s *Scope) []tfbridge.Output

// Cond adds a condition. It returns the results of then if pred, a bool, is true,
// and otherwise those of otherwise. Only that branch runs. Both must return the
// same number of results, of the same data types. A dimension in which their
// shapes differ is unknown in the result.
//
// [Gradients] differentiates it if it can differentiate both branches and neither
// has state that matters, such as random numbers or writes. The derivative runs
// the chosen branch once more.
//
// It adds an If or StatelessIf.
func Cond(s *Scope, pred tfbridge.Output, then, otherwise Branch) []tfbridge.Output {
	return branching(s, "cond", pred, []Branch{then, otherwise})
}

// Case adds a choice. It returns the results of branch index, an int32 that counts from
// 0, or of the last branch if index is out of range. Only that branch runs. The rules
// are those of [Cond].
//
// It adds a Case or StatelessCase.
func Case(s *Scope, index tfbridge.Output, branches ...Branch) []tfbridge.Output {
	return branching(s, "case", index, branches)
}

// choice is a Cond or Case whose branches are functions.
type choice struct {
	name     string
	branches []*Func
	out      []Spec
	stateful bool
}

// branching adds a Cond or Case.
func branching(s *Scope, name string, index tfbridge.Output, branches []Branch) []tfbridge.Output {
	if s.Err() != nil {
		return unbuilt.Outputs(unbuilt.Many)
	}
	if len(branches) == 0 {
		s.fail(name, "there is no branch")
		return unbuilt.Outputs(unbuilt.Many)
	}
	var drafts []*draft
	for i, b := range branches {
		if b == nil {
			s.fail(name, "branch %d is nil", i)
			return unbuilt.Outputs(unbuilt.Many)
		}
		d := s.draft(fmt.Sprintf("%s_branch%d", name, i), nil, nil, func(s *Scope, _, _ []tfbridge.Output) []tfbridge.Output { return b(s) })
		defer d.close()
		if s.Err() != nil {
			return unbuilt.Outputs(unbuilt.Many)
		}
		drafts = append(drafts, d)
	}
	out, err := common(drafts)
	if err != nil {
		s.UpdateErr(name, err)
		return unbuilt.Outputs(unbuilt.Many)
	}
	captures := union(drafts)
	c, gradient, why := newChoice(name, drafts, captures, out)
	inputs := append([]tfbridge.Output{index}, captures...)
	if s.Err() != nil {
		return unbuilt.Outputs(unbuilt.Many)
	}
	if gradient == nil {
		return s.without(c.add(s, inputs), why)
	}
	return s.wrap(name, inputs, c.add, func(s *Scope, args []tfbridge.Output) []tfbridge.Output {
		zero := ZerosLike(s, args[0])
		return append([]tfbridge.Output{zero}, gradient.add(s, args)...)
	})
}

// newChoice makes the functions of the branches and of their derivatives. If there
// are no derivatives, why is the reason.
func newChoice(name string, drafts []*draft, captures []tfbridge.Output, out []Spec) (c, gradient *choice, why error) {
	c = &choice{name: name, out: out}
	gradient = &choice{name: name + "_gradient", out: SpecsOf(captures)}
	wanted := trainables(captures) > 0 && trainables(drafts[0].results) > 0
	for i, d := range drafts {
		branch := fmt.Sprintf("%s_branch%d", name, i)
		state := d.state
		c.stateful = c.stateful || state != stateless
		if state == stateful {
			wanted, why = false, errState()
		}
		c.branches = append(c.branches, &Func{Name: d.define(branch, captures)})
	}
	for i, d := range drafts {
		if !wanted || d.parent.Err() != nil {
			return c, nil, why
		}
		f, err := d.addGradient(fmt.Sprintf("%s_branch%d", name, i), d.inputs(captures))
		if err != nil {
			return c, nil, err
		}
		gradient.branches = append(gradient.branches, f)
		gradient.stateful = gradient.stateful || f.Stateful
	}
	return c, gradient, nil
}

// add adds the operation on the index and the inputs of the branches.
func (c *choice) add(s *Scope, args []tfbridge.Output) []tfbridge.Output {
	attrs := map[string]any{"Tout": DTypes(c.out), "output_shapes": Shapes(c.out)}
	typ := "Case"
	if c.name == "cond" || c.name == "cond_gradient" {
		typ = "If"
		attrs["then_branch"], attrs["else_branch"] = c.branches[0].Attr(), c.branches[1].Attr()
	} else {
		var names []tfbridge.FuncName
		for _, f := range c.branches {
			names = append(names, f.Attr())
		}
		attrs["branches"] = names
	}
	if !c.stateful {
		typ = "Stateless" + typ
	}
	op := s.AddOperation(tfbridge.OpSpec{
		Type: typ, Name: c.name, Attrs: attrs,
		Input: []tfbridge.Input{args[0], tfbridge.OutputList(args[1:])},
	})
	return s.shaped(Outputs(op), c.out)
}

// union returns what the bodies captured, without repetitions.
func union(drafts []*draft) []tfbridge.Output {
	var all []tfbridge.Output
	seen := map[tfbridge.Output]bool{}
	for _, d := range drafts {
		for _, o := range d.captures() {
			if !seen[o] {
				seen[o] = true
				all = append(all, o)
			}
		}
	}
	return all
}

// common returns what the results of all bodies have in common.
func common(drafts []*draft) ([]Spec, error) {
	out := SpecsOf(drafts[0].results)
	for b, d := range drafts[1:] {
		if len(d.results) != len(out) {
			return nil, millrace.Errorf(millrace.ErrModel, "branch 0 has %d results and branch %d has %d", len(out), b+1, len(d.results))
		}
		for i, p := range SpecsOf(d.results) {
			if p.DType != out[i].DType {
				return nil, millrace.Errorf(millrace.ErrModel, "result %d is %v in branch 0 and %v in branch %d", i, out[i].DType, p.DType, b+1)
			}
			out[i].Shape = out[i].Shape.MostSpecificCompatible(p.Shape)
		}
	}
	return out, nil
}

// MapDefun applies a function to the slices of elems along their first dimension, which
// is the same for all, and stacks what it returns. The slices are worked on in parallel.
// fn may use outputs of the graphs around it.
//
// It wraps MapDefun.
func MapDefun(s *Scope, name string, elems []tfbridge.Output, fn func(s *Scope, slices []tfbridge.Output) []tfbridge.Output) []tfbridge.Output {
	if len(elems) == 0 {
		s.fail(fmt.Sprintf("MapDefun %q", name), "there are no tensors")
	}
	in := make([]Spec, len(elems))
	for i, p := range SpecsOf(elems) {
		in[i].DType = p.DType
		if dims, err := p.Shape.ToSlice(); err == nil && len(dims) > 0 {
			in[i].Shape = tfbridge.MakeShape(dims[1:]...)
		} else if err == nil {
			s.fail(fmt.Sprintf("MapDefun %q", name), "tensor %d is a scalar, which has no slices", i)
		}
	}
	if fn == nil {
		s.fail(fmt.Sprintf("MapDefun %q", name), "the function is nil")
	}
	if s.Err() != nil {
		return unbuilt.Outputs(unbuilt.Many)
	}
	f := s.Func(name, in, nil, func(s *Scope, args, _ []tfbridge.Output) []tfbridge.Output { return fn(s, args) })
	if s.Err() != nil {
		return unbuilt.Outputs(unbuilt.Many)
	}
	return s.Op("MapDefun", map[string]any{"f": f.Attr(), "output_types": DTypes(f.Out), "output_shapes": Shapes(f.Out)},
		tfbridge.OutputList(elems), f.Inputs())
}
