package build

import (
	"math"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// # How windows are read by their place
//
// The question: exact shuffling wants the windows of all files in any order. Files are
// too large to be cut first and shuffled then.
//
// The answer: windows have one size, so the number of a window says in which records it
// is, and where in them. Go reads those records by their places, for some windows at
// once, and says where each window begins and ends in what the records give. The rest
// is as for windows that are cut in order: the records are parsed to joined values, and
// the rows of the windows are gathered from these.
//
//	order     window 7        window 2        window 9
//	records   r14 r15 r16     r4 r5 r6        r18 r19 r20
//	values    aaaabbbbcccc    ddddeeeeffff    gggghhhhiiii
//	windows     |------|        |------|        |------|
//
// A record that two windows of a call share is read twice.

// windowsByPlace yields groups of windows in the order of the plan. A plan that
// [engine.Choice.Seeks] begins at window b.skip.
func (b *windowBuilder) windowsByPlace() *dataset.Dataset {
	s := b.scope
	scalar := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	vector := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)}
	results := []graph.Spec{scalar, scalar, {DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)}, vector, vector}
	begin := s.Const(int64(0))
	if b.plan.Engine().Seeks() {
		begin = b.skip
	}
	d := dataset.Range(s, 0, math.MaxInt64, 1)
	d = d.Scan("read_windows", []tfbridge.Output{s.Const(int64(0)), begin}, func(s *graph.Scope, state, _ []tfbridge.Output) (next, components []tfbridge.Output) {
		out := graph.GoFunction(s, graph.GoFunc{Name: "read_windows", Out: results, Fn: b.source().Windows(), Pure: true}, state[0], state[1], b.group)
		if s.Err() != nil {
			return nil, nil
		}
		return out[:2], out[2:]
	})
	d = d.TakeWhile("any_windows", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return graph.Greater(s, graph.Size(s, args[1]), s.Const(int64(0)))
	})
	return d.Map("windows", b.placedWindows, b.mapOptions())
}

// placedWindows makes a group of windows, given records and where the windows begin and
// end in them.
func (b *windowBuilder) placedWindows(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	block := b.parseBlock(s, args[:1])
	if s.Err() != nil {
		return nil
	}
	return b.windowRows(s, args[1], args[2], withOffsets(b.plan, s, block[blockCounts:]))
}
