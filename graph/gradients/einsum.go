package gradients

import (
	"slices"
	"strings"

	"millrace/graph"
	"millrace/tfbridge"
)

// The derivative of an Einsum is an Einsum of the derivative of the result and the
// other input:
//
//	abc,cd->abd      dx: abd,cd->abc      dy: abd,abc->cd
//
// A label of an input that neither the result nor the other input has was summed along
// its axis alone. All elements along that axis have the same derivative, so the Einsum
// omits the axis, and a broadcast adds it. An ellipsis represents the dimensions before
// or between the labels; here it becomes labels that the equation does not have.

// einsumRule is the rule of Einsum with one or two inputs.
func einsumRule(c *call) []tfbridge.Output {
	equation := attr[string](c, "equation")
	if c.Err() != nil {
		return nil
	}
	left, out, ok := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	in := strings.Split(left, ",")
	if !ok || len(in) != len(c.inputs) || len(in) > 2 {
		return c.fail("the equation %q is not of one or two inputs and a result", equation)
	}
	ellipsis := strings.Contains(equation, "...")
	if ellipsis {
		free := freeLabels(equation)
		for i := range in {
			if in[i], ok = expandEllipsis(in[i], free, c.x(i).Shape().NumDimensions()); !ok {
				return c.fail("the rank of input %d is not known, and the equation %q needs it", i, equation)
			}
		}
		if out, ok = expandEllipsis(out, free, c.y(0).Shape().NumDimensions()); !ok {
			return c.fail("the rank of the result is not known, and the equation %q needs it", equation)
		}
	}
	dx := make([]tfbridge.Output, len(in))
	for i := range in {
		if repeated(in[i]) || repeated(out) {
			return c.fail("the equation %q takes a diagonal", equation)
		}
		dx[i] = c.lazy(i, func() tfbridge.Output { return einsumInput(c, i, in, out) })
		if ellipsis { // its dimensions are broadcast
			dx[i] = c.unbroadcastTo(i, dx[i])
		}
	}
	return dx
}

// einsumInput returns the derivative of one input.
func einsumInput(c *call, i int, in []string, out string) tfbridge.Output {
	others := tfbridge.OutputList{c.d(0)}
	labels := []string{out}
	if len(in) == 2 {
		others, labels = append(others, c.x(1-i)), append(labels, in[1-i])
	}
	known := strings.Join(labels, "")
	var kept, axes = "", []int64(nil)
	for axis, label := range in[i] {
		if strings.ContainsRune(known, label) {
			kept += string(label)
		} else {
			axes = append(axes, int64(axis))
		}
	}
	d := c.Op1("Einsum", map[string]any{"equation": strings.Join(labels, ",") + "->" + kept}, others)
	for _, axis := range axes {
		d = graph.ExpandDims(c.Scope, d, axis)
	}
	if len(axes) > 0 {
		d = c.setShape(graph.BroadcastTo(c.Scope, d, c.shape(c.x(i))), c.x(i))
	}
	return d
}

// freeLabels returns the letters that an equation does not use.
func freeLabels(equation string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(equation, r) {
			return -1
		}
		return r
	}, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
}

// expandEllipsis replaces the ellipsis by a free label for each dimension that it
// represents. The labels count from the right, as broadcasting does.
func expandEllipsis(labels, free string, rank int) (string, bool) {
	before, after, has := strings.Cut(labels, "...")
	if !has {
		return labels, true
	}
	n := rank - len(before) - len(after)
	if rank < 0 || n < 0 || n > len(free) {
		return "", false
	}
	dims := []byte(free[:n])
	slices.Reverse(dims)
	return before + string(dims) + after, true
}

// repeated reports whether a label occurs twice.
func repeated(labels string) bool {
	runes := []rune(labels)
	slices.Sort(runes)
	return len(slices.Compact(runes)) != len([]rune(labels))
}
