package optimizer

import (
	"regexp"
	"slices"

	"millrace/graph"
	"millrace/tfbridge"
)

// globalNorm returns the square root of the sum of the squares of all gradients.
func (a *applier) globalNorm(gradients []Gradient) tfbridge.Output {
	var values []tfbridge.Output
	for _, g := range gradients {
		values = append(values, g.Value)
	}
	return norm(a.s, values)
}

// norm returns the square root of the sum of the squares of all values, as a float.
func norm(s *graph.Scope, values []tfbridge.Output) tfbridge.Output {
	var squares tfbridge.OutputList
	for _, v := range values {
		squares = append(squares, graph.Cast(s, graph.ReduceSum(s, square(s, v)), tfbridge.Float))
	}
	return sqrt(s, s.Op1("AddN", nil, squares))
}

// clip limits the gradients by the first of clipnorm, global_clipnorm and clipvalue
// that is set, as Keras does.
func (a *applier) clip(s *graph.Scope, gradients []tfbridge.Output) []tfbridge.Output {
	c := a.common
	switch {
	case c.ClipNorm > 0:
		return each(gradients, func(g tfbridge.Output) tfbridge.Output { return clipByNorm(s, g, c.ClipNorm) })
	case c.GlobalClipNorm > 0:
		return a.clipTogether(s, gradients, c.GlobalClipNorm)
	case c.ClipValue > 0:
		return each(gradients, func(g tfbridge.Output) tfbridge.Output {
			limit := scalar(s, g.DataType(), c.ClipValue)
			return s.Op1("ClipByValue", nil, g, s.Op1("Neg", nil, limit), limit)
		})
	}
	return gradients
}

// each applies f to all gradients.
func each(gradients []tfbridge.Output, f func(g tfbridge.Output) tfbridge.Output) []tfbridge.Output {
	var all []tfbridge.Output
	for _, g := range gradients {
		all = append(all, f(g))
	}
	return all
}

// clipByNorm scales a gradient so that its norm is at most limit.
func clipByNorm(s *graph.Scope, g tfbridge.Output, limit float64) tfbridge.Output {
	most := scalar(s, g.DataType(), limit)
	length := sqrt(s, graph.ReduceSum(s, square(s, g)))
	return div(s, graph.Mul(s, g, most), graph.Maximum(s, length, most))
}

// clipTogether scales gradients so that their norm is at most limit. A norm that is not
// finite makes all of them NaN, as in Keras: no variable then takes a wrong value
// that looks right.
func (a *applier) clipTogether(s *graph.Scope, gradients []tfbridge.Output, limit float64) []tfbridge.Output {
	norm := norm(s, gradients)
	most := graph.Minimum(s, div(s, scalar(s, tfbridge.Float, 1), norm), scalar(s, tfbridge.Float, 1/limit))
	scale := graph.Add(s, graph.Mul(s, scalar(s, tfbridge.Float, limit), most), graph.Sub(s, norm, norm))
	return each(gradients, func(g tfbridge.Output) tfbridge.Output {
		return graph.Mul(s, g, graph.Cast(s, scale, g.DataType()))
	})
}

// decays reports whether weight decay applies to a variable.
func (a *applier) decays(name string) bool {
	return a.common.WeightDecay != 0 && !slices.ContainsFunc(a.common.ExcludeFromWeightDecay, func(pattern string) bool {
		matched, err := regexp.MatchString(pattern, name)
		return err == nil && matched // check has refused what is not an expression
	})
}
