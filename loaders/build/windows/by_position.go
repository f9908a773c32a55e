package windows

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/loaders/build/feed"
	"millrace/loaders/build/source"
	"millrace/loaders/build/target"
	"millrace/loaders/stage/order"
	"millrace/tfbridge"
)

// # How windows are read by their place
//
// The question: exact shuffling wants the windows of all files in any order. Files are
// too large to be cut first and shuffled then.
//
// The answer: windows have one size, so the number of a window says in which records it
// is, and where in them. Go reads those records by their positions, for some windows at
// once, and returns where each window begins and ends in their values. Where Millrace's
// own operations read records, one of them does that. The rest is as for windows that
// are cut in order: the records are parsed to joined values, and the rows of the
// windows are gathered from these.
//
//	order     window 7        window 2        window 9
//	records   r14 r15 r16     r4 r5 r6        r18 r19 r20
//	values    aaaabbbbcccc    ddddeeeeffff    gggghhhhiiii
//	windows     |------|        |------|        |------|
//
// A record that two windows of a call share is read twice.

// byPosition yields groups of windows in the order of the plan. A plan that
// [engine.Choice.Seeks] begins at window b.Skip.
func (b *Builder) byPosition() *dataset.Dataset {
	if b.Engine.ReadsNatively() && !b.Draws() {
		return b.blocks.records.Windows().Map("windows", b.blocks.positioned, b.MapOptions())
	}
	after := []tfbridge.Output{b.Group}
	if b.Stop.Op != nil {
		after = append(after, b.Stop)
	}
	results := []graph.Spec{source.StringVector, source.Int64Vector, source.Int64Vector}
	if b.Draws() {
		results = append(results, source.Int64Vector, source.Int64Vector)
	}
	d := source.GoScan{
		Name: "read_windows", Any: "any_windows", Fn: feed.Windows(b.Feed()), Begin: b.Begin(), After: after,
		Results: results, Counted: 1,
	}.Build(b.Scope)
	d = d.Map("windows", b.blocks.positioned, b.MapOptions())
	if b.Draws() {
		return d.Unbatch()
	}
	return d
}

// positioned makes a group of windows, given records and where the windows begin and
// end in them. It passes through what follows these.
func (b *blocks) positioned(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	block := b.parse(s, args[:1])
	if s.Err() != nil {
		return nil
	}
	return append(b.rows(s, args[1], args[2], b.withOffsets(s, block[blockCounts:])), args[3:]...)
}

// resumed is [Builder.pass] after the first n windows.
func (b *Builder) resumed(s *graph.Scope, epoch, n tfbridge.Output) *dataset.Dataset {
	atOnce := graph.Maximum(s, graph.FloorDiv(s, b.Group, s.Const(order.WindowRecords(b.Spec))), s.Const(int64(1)))
	numbers := b.ShuffledNumbers(s, epoch, n).BatchOutput(atOnce, false)
	d := source.ReadNumbers(numbers, "read_window_numbers", feed.WindowNumbers(b.Feed()), source.StringVector, source.Int64Vector, source.Int64Vector)
	c := b.blocks
	c.apart, c.stored = true, b.Engine.Native().Applied && b.Engine.EqualWindows()
	d = d.Map("windows", c.positioned, target.Inline()).Unbatch()
	if b.Draws() {
		return dated(s, dataset.Zip(s, d, b.ShuffledNumbers(s, epoch, n)), epoch)
	}
	return d
}
