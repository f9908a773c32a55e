package build

import (
	"millrace/graph"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// draws makes the random sizes of the windows of one file in one epoch. The
// numbers come from a counter, not from a state: window k has the same size
// whatever is read at once, and after a restore.
type draws struct {
	window *spec.Window
	key    tfbridge.Output
	stream tfbridge.Output // epoch and file, which give every pass of a file numbers of its own
}

// newDraws returns the draws of a file. Epoch and file fill one word of the
// counter, so that no two files of any two epochs share numbers.
func (b *builder) newDraws(s *graph.Scope, epoch, file tfbridge.Output) *draws {
	return &draws{
		window: b.plan.Window,
		key:    s.Const([]uint64{uint64(b.plan.Seed)}),
		stream: graph.Add(s, graph.Mul(s, epoch, s.Const(int64(1)<<32)), file),
	}
}

// sizes returns the sizes of n windows from window k on. One step of the
// counter gives two numbers.
func (d *draws) sizes(s *graph.Scope, k, n tfbridge.Output) tfbridge.Output {
	two := s.Const(int64(2))
	skip := graph.FloorMod(s, k, two)
	counter := graph.Pack(s, []tfbridge.Output{graph.FloorDiv(s, k, two), d.stream}, 0)
	end := graph.Add(s, skip, n)
	drawn := graph.StatelessRandomUniformIntAt(s, graph.ExpandDims(s, end, 0),
		d.key, graph.Cast(s, counter, tfbridge.Uint64),
		s.Const(d.window.Min), s.Const(d.window.Max+1))
	return graph.Rows(s, drawn, skip, end)
}
