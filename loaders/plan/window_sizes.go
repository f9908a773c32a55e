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

// JoinsWindows reports whether our own operation joins the windows of a batch end to end,
// as ragged rows: where they differ in size, and more is to be done with them than to pad
// them.
func (p *Plan) JoinsWindows() bool {
	_, direct := p.ParsedOrder(true)
	return !p.EqualWindows() && (!direct || p.Window.Min == p.Window.Max)
}
