package plan

import (
	"slices"

	"millrace/loaders/spec"
)

// EqualWindows reports whether all windows have one shape.
func (p *Plan) EqualWindows() bool {
	if p.Window.Min != p.Window.Max {
		return false
	}
	return p.Window.Unit == spec.Positions || !slices.ContainsFunc(p.Features, func(f *spec.Feature) bool {
		return f.VarLen || f.TensorShape()[0] > spec.MaxDimension/p.Window.Min
	})
}
