package build

import (
	"context"
	"math"
	"slices"

	"millrace/graph"
	"millrace/graph/dataset/native"
	"millrace/loaders/stage/order"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// nativeOrder returns the order of the plan's records for the native operations, from
// record b.skip on where the plan seeks.
func (b *builder) nativeOrder() *native.Order {
	s, shuffle, inOrder := b.scope, b.plan.Shuffle, b.plan
	if shuffle != nil {
		inOrder = inOrder.InFileOrder()
	}
	order := order.New(inOrder.Spec, b.scan).Spec()
	paths, counts := b.countedFiles()
	o := &native.Order{
		Filenames: s.Const(paths), Counts: s.Const(int64Vector(counts)), Lengths: b.recordLengths(s),
		Shuffling: string(order.Shuffling), Seed: order.Seed, Block: order.Block, Mixed: order.Mixed,
		Begin: order.Begin, Size: order.Size, Epochs: b.plan.Epochs,
		Threads: max(b.plan.ParallelReads, b.plan.ParallelParses),
	}
	for _, part := range order.Parts {
		o.Parts = append(o.Parts, native.OrderPart(part))
	}
	if shuffle != nil {
		o.Shuffling, o.Mixed = "buffer", shuffle.Elements
		o.FilesBuffer, o.FilesAtOnce = shuffle.Filenames, shuffle.MixFiles
	}
	if b.plan.Engine().Seeks() {
		o.Start = b.skip
	}
	return o
}

// orderedOptions returns how the native operations batch the records of an order.
func (b *builder) orderedOptions() *native.OrderedOptions {
	o := &native.OrderedOptions{BatchSize: b.plan.BatchSize, Size: b.joinedSize(), Drop: b.dropRemainder()}
	if b.plan.Engine().JudgesRecords() {
		o.Judge = b.source().JudgeByPlace
	}
	return o
}

// ordersNatively reports whether the native operations read the records of an order, and
// not Go. Of a file that ends, for its index, before a damaged header they know another
// size than it has, and would refuse it.
func (b *builder) ordersNatively() bool {
	if b.plan.Engine().ReadsNatively() {
		return true
	}
	cut := func(x *tfrecord.Index) bool { return x.Rest != nil }
	return b.plan.Engine().ChecksNatively() && !slices.ContainsFunc(b.scan.Indexes, cut)
}

// recordLengths returns the data bytes of all records. A call of Go makes the vector
// when an iterator starts: a constant of a large dataset would be copied with each
// copy of the graph, and fit none from 2 GB on.
func (b *builder) recordLengths(s *graph.Scope) tfbridge.Output {
	out := []graph.Spec{{DType: tfbridge.Uint32, Shape: tfbridge.MakeShape(-1)}}
	lengths := func(context.Context, []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
		records, _ := b.scan.Records() // known: all files have an index
		all := make([]uint32, 0, min(records, math.MaxInt))
		for _, index := range b.scan.Indexes {
			all = append(all, index.Layout.Lengths()...)
		}
		t, err := tfbridge.NewTensorFromSlice([]int64{records}, all)
		return []*tfbridge.Tensor{t}, err
	}
	return graph.GoFunction(s, graph.GoFunc{Name: "record_lengths", Out: out, Fn: lengths})[0]
}
