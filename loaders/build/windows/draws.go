package windows

import (
	"millrace/graph"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// draws makes the random sizes of the windows of one file in one epoch. The
// numbers come from a counter, not from a state: window k has the same size
// whatever is read at once, and after a restore.
type draws struct {
	window stage.Window
	key    tfbridge.Output
	stream tfbridge.Output // epoch and file: every pass over a file has its own numbers
}

// newDraws returns the draws of the pass over a file that a stream names.
func newDraws(s *graph.Scope, w stage.Window, seed int64, stream tfbridge.Output) *draws {
	return &draws{window: w, key: s.Const([]uint64{uint64(seed)}), stream: stream}
}

// streamOf returns the stream of a file in an epoch. Both numbers fill one word of the
// counter, so that no two files of any two epochs share draws.
func streamOf(s *graph.Scope, epoch, file tfbridge.Output) tfbridge.Output {
	return graph.Add(s, graph.Mul(s, epoch, s.Const(int64(1)<<32)), file)
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
