package policy

import (
	"maps"
	"slices"

	"millrace/savedmodel/modelfile"
)

// CheckCalls refuses functions that call themselves, directly or not, and functions
// that nest too deep. TensorFlow follows them until its stack overflows. It also
// refuses functions whose calls multiply: TensorFlow copies each callee into each
// caller, so a chain of forty functions that each call the next one twice would never
// load.
func (g *callGraph) CheckCalls() error {
	copies := make(map[string]int, len(g.m.Functions))
	depth := make(map[string]int, len(g.m.Functions)) // 0: not seen, -1: being walked
	for _, name := range slices.Sorted(maps.Keys(g.m.Functions)) {
		if err := g.measure(name, depth, copies); err != nil {
			return err
		}
	}
	return nil
}

// frame is a function being walked, and the position in it.
type frame struct {
	name  string
	calls []call
	next  int
}

// measure computes the nesting depth of the functions below name, and their total
// number of calls. It keeps its own stack, which a hostile model cannot exhaust.
func (g *callGraph) measure(name string, depth, copies map[string]int) error {
	var stack []frame
	enter := func(name string) error {
		e, err := g.effectsOf(g.m.Functions[name])
		if err != nil {
			return err
		}
		depth[name] = -1
		stack = append(stack, frame{name: name, calls: e.calls})
		return nil
	}
	if depth[name] == 0 {
		if err := enter(name); err != nil {
			return err
		}
	}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(top.calls) {
			deepest, all := 0, 0
			for _, c := range top.calls {
				deepest = max(deepest, depth[c.callee])
				all = min(all+1+copies[c.callee], maxFunctionCalls+1)
			}
			depth[top.name], copies[top.name] = deepest+1, all
			if all > maxFunctionCalls {
				return g.r.Limit("function %s makes more than %d calls, with the calls of the functions that it calls", modelfile.Quote(top.name), maxFunctionCalls)
			}
			if deepest+1 > MaxFunctionDepth {
				return g.r.Limit("functions call each other more than %d deep, below %s", MaxFunctionDepth, modelfile.Quote(top.name))
			}
			stack = stack[:len(stack)-1]
			continue
		}
		callee := top.calls[top.next].callee
		top.next++
		switch {
		case depth[callee] < 0:
			return g.r.Fail("function %s calls itself%s", modelfile.Quote(callee), through(stack, callee))
		case depth[callee] == 0:
			if err := enter(callee); err != nil {
				return err
			}
		}
	}
	return nil
}

// through names the functions between one that calls itself and its call.
func through(stack []frame, callee string) string {
	first := slices.IndexFunc(stack, func(f frame) bool { return f.name == callee })
	var names []string
	for _, f := range stack[first+1:] {
		names = append(names, modelfile.Quote(f.name))
	}
	if len(names) == 0 {
		return ""
	}
	return " through " + modelfile.ShortList(names)
}
