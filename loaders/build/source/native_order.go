package source

import (
	"context"
	"math"
	"slices"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/build/target"
	"millrace/loaders/stage/order"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// NativeOrder returns the order of the plan's records for the native operations, from
// record r.Skip on where the plan seeks.
func (r *Records) NativeOrder() *native.Order {
	s, config := r.Scope, r.Spec
	if r.Shuffling != nil {
		config = order.InFile(config)
	}
	order := order.New(config, r.Scan).Spec()
	paths, counts := r.CountedFiles()
	o := &native.Order{
		Filenames: s.Const(paths), Counts: s.Const(target.Int64Vector(counts)), Lengths: r.Lengths(s),
		Shuffling: string(order.Shuffling), Seed: order.Seed, Block: order.Block, Mixed: order.Mixed,
		Begin: order.Begin, Size: order.Size, Epochs: r.Repeat.Epochs, Skip: r.Skips(),
		Threads: max(r.Reading.Parallel, r.Parse.Parallel),
	}
	for _, part := range order.Parts {
		o.Parts = append(o.Parts, native.OrderPart(part))
	}
	if r.Shuffling != nil {
		o.Shuffling, o.Mixed = "buffer", r.Shuffling.Buffer
		o.FilesBuffer, o.FilesAtOnce = r.Files.Buffer, r.Read.MixFiles
	}
	if r.Engine.Seeks() || r.Epoch.Op != nil {
		o.Start = r.Skip
	}
	if r.Stop.Op != nil {
		o.Start = graph.Pack(s, []tfbridge.Output{r.Skip, r.Stop}, 0)
	}
	return o
}

// Windows yields the records of groups of windows in the order of the plan, with where the
// windows begin and end in them, as r.Engine reads them natively.
func (r *Records) Windows() *dataset.Dataset {
	return native.OrderedWindows(r.Scope, r.NativeOrder(), native.WindowForm(order.WindowFormOf(r.Spec)), r.Group)
}

// WindowBatches yields batches of windows in the order of the plan.
func (r *Records) WindowBatches(features []native.Feature, o *native.OrderedOptions) *dataset.Dataset {
	config := r.Spec
	if r.Shuffling != nil {
		config = order.InFile(config)
	}
	return native.OrderedWindowBatches(r.Scope, r.NativeOrder(), native.WindowForm(order.WindowFormOf(config)), features, o)
}

// OrdersNatively reports whether the native operations read the records of an order,
// and not Go. If a file's index ends before a damaged header, they would expect a
// smaller file, and refuse it.
func (r *Records) OrdersNatively() bool {
	if r.Engine.ReadsNatively() {
		return true
	}
	cut := func(x *tfrecord.Index) bool { return x.Rest != nil }
	return r.Engine.ChecksNatively() && !slices.ContainsFunc(r.Scan.Indexes, cut)
}

// Lengths returns the data bytes of all records. A call of Go makes the vector when an
// iterator starts: a constant of a large dataset would be copied with each copy of the
// graph, and cannot exceed 2 GB. In another process than this an operation reads them
// from the headers of the files.
func (r *Records) Lengths(s *graph.Scope) tfbridge.Output {
	if r.RecordLengths.Op != nil {
		return r.RecordLengths
	}
	if r.Fixed != nil {
		paths, counts := r.CountedFiles()
		return native.RecordLengths(s, s.Const(paths), s.Const(target.Int64Vector(counts)), r.Skips())
	}
	out := []graph.Spec{{DType: tfbridge.Uint32, Shape: tfbridge.MakeShape(-1)}}
	lengths := func(context.Context, []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
		records, _ := r.Scan.Records() // known: all files have an index
		all := make([]uint32, 0, min(records, math.MaxInt))
		for _, index := range r.Scan.Indexes {
			all = append(all, index.Layout.Lengths()...)
		}
		t, err := tfbridge.NewTensorFromSlice([]int64{records}, all)
		return []*tfbridge.Tensor{t}, err
	}
	return graph.GoFunction(s, graph.GoFunc{Name: "record_lengths", Out: out, Fn: lengths})[0]
}
