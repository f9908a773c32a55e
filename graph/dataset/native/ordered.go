package native

import (
	"maps"
	"math"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// Order selects records of plain local files, and the order to read them in. The order
// is computed and takes no memory; docs/records.md describes it. A position counts the
// records of all epochs, one epoch after the other.
type Order struct {
	Filenames tfbridge.Output // names of the files, a string vector
	Counts    tfbridge.Output // int64 vector: the records of each file
	Lengths   tfbridge.Output // uint32 vector: the data bytes of all records, file after file
	Start     tfbridge.Output // int64 scalar: the position to begin at, or a vector of it and the position after the last; not set: 0

	Shuffling string // one of "none", "exact", "block" and "buffer"
	Seed      int64
	Block     int64 // records per block; default 1
	Mixed     int64 // number of records that block shuffling mixes, or that the buffer holds; default 1

	// For "buffer", which has the order of InterleaveDataset between two
	// ShuffleDatasets: how many files the buffer of files holds, and how many files are
	// read in turns; default 1.
	FilesBuffer, FilesAtOnce int64

	// Parts are the datasets that positions are drawn from, at least one: consecutive
	// records of all files.
	Parts []OrderPart

	Begin   int64 // first position to read in each epoch's order
	Size    int64 // number of positions to read in each epoch's order
	Epochs  int64 // passes over the records; 0: endless
	Threads int64 // threads that read; default 1

	// Skip lists bad records, which are skipped. It replaces Check. Windows need all
	// records, so they cannot have it.
	Skip []Skip
}

// OrderPart is one of the datasets of an [Order].
type OrderPart struct {
	First, Records int64

	// Threshold selects this part if a drawn number is below it, and not below the
	// threshold of a part before it. Numbers are drawn from 0 to 2^63 - 1.
	Threshold int64
}

// OrderedOptions are the options of [OrderedExamples] and [OrderedSequences].
type OrderedOptions struct {
	BatchSize int64           // default 1
	Size      tfbridge.Output // an int64 scalar that replaces BatchSize
	Drop      bool            // drop a last batch of fewer examples

	// Check decides which bad records are skipped. Nil: the first one is a failure.
	// With a Check the number of batches is unknown.
	Check Check
}

// check returns the check, nil if there is none.
func (o *OrderedOptions) check() Check {
	if o == nil {
		return nil
	}
	return o.Check
}

// OrderedExamples returns batches of the Examples in files in a computed order, the
// features as components. Order.Threads threads prefetch batches. Files of up to 64 MiB
// in all are kept in memory. From larger ones each thread reads up to 8 MiB of records
// at once, sorted by file and offset, so that it needs few system calls. Both checksums
// of every record are checked, and its length is compared with the one given. A fault
// in a file or record is a *millrace.Error with its file, record, offset and feature.
// It is reported after all preceding batches, and is sticky.
func OrderedExamples(s *graph.Scope, order *Order, features []Feature, o *OrderedOptions) *dataset.Dataset {
	check := o.check()
	op := check.op(opOrderedExamples, opCheckedOrderedExamples)
	more := order.skipping(s, op, check)
	static, inputs := order.batches(s, op, o)
	return addDecoder(s, op, features, static, more, append(inputs, check.add(s, more)...)...)
}

// OrderedSequences is [OrderedExamples] for records with lists.
func OrderedSequences(s *graph.Scope, order *Order, q *Sequence, o *OrderedOptions) *dataset.Dataset {
	check := o.check()
	op := check.op(opOrderedSequences, opCheckedOrderedSequences)
	static, inputs := order.batches(s, op, o)
	return q.addChecked(s, op, static, order.skipping(s, op, check), check, inputs...)
}

// OrderedRecords returns the records of files in a computed order, each a string that
// carries its location, for a later [Parse] or [Decode] with PlacedFiles.
func OrderedRecords(s *graph.Scope, order *Order) *dataset.Dataset {
	specs := []graph.Spec{{DType: tfbridge.String, Shape: tfbridge.ScalarShape()}}
	variant := s.Op1(opOrderedRecords, order.skipping(s, opOrderedRecords, nil), order.inputs(s, opOrderedRecords)...)
	if s.Err() != nil {
		return none(s)
	}
	return dataset.FromVariant(s, variant, specs)
}

// batches returns the inputs of an operation that makes batches, and the number of rows
// that all batches have, -1 if it is unknown.
func (o *Order) batches(s *graph.Scope, op string, options *OrderedOptions) (static int64, inputs []tfbridge.Input) {
	if options == nil {
		options = &OrderedOptions{}
	}
	limit.Between(0, math.MaxInt64).Check(s, op+": batch size", options.BatchSize)
	size := max(options.BatchSize, 1)
	static = -1
	if (options.Drop || o.Epochs == 0) && options.Size.Op == nil {
		static = size
	}
	return static, append(o.inputs(s, op), batchSize(s, size, options.Size), s.Const(options.Drop))
}

// inputs returns the inputs that operations over an order have in common.
func (o *Order) inputs(s *graph.Scope, op string) []tfbridge.Input {
	if len(o.Parts) == 0 {
		s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "the order has no parts"))
	}
	var parts [][]int64
	for _, p := range o.Parts {
		parts = append(parts, []int64{p.First, p.Records, p.Threshold})
	}
	start := o.Start
	if start.Op == nil {
		start = s.Const(int64(0))
	}
	return []tfbridge.Input{o.Filenames, o.Counts, o.Lengths, s.Const(parts), start}
}

// skipping returns the attributes of an operation that can skip records.
func (o *Order) skipping(s *graph.Scope, op string, check Check) attrs {
	all := o.attrs()
	addSkips(s, op, o.Skip, check, all)
	return all
}

// attrs returns the attributes that operations over an order have in common.
func (o *Order) attrs() attrs {
	epochs := o.Epochs
	if epochs == 0 {
		epochs = -1
	}
	return attrs{
		"shuffling": o.Shuffling, "seed": o.Seed, "block": max(o.Block, 1), "mixed": max(o.Mixed, 1),
		"files_buffer": max(o.FilesBuffer, 1), "files_at_once": max(o.FilesAtOnce, 1),
		"begin": o.Begin, "size": o.Size, "epochs": epochs, "threads": max(o.Threads, 1),
	}
}

// RecordLengths returns the data bytes of all records of plain local files, a uint32 vector,
// as [Order] takes them. Filenames is a string vector, and counts how many records each file
// has, an int64 vector. It reads the headers of the records when it runs, and no data. A
// damaged header is a *millrace.Error with its place, and so is another number of records.
// The header of a record to skip is not read.
func RecordLengths(s *graph.Scope, filenames, counts tfbridge.Output, skip []Skip) tfbridge.Output {
	all := attrs{}
	addSkips(s, opRecordLengths, skip, nil, all)
	return s.Op1(opRecordLengths, all, filenames, counts)
}

// WindowForm says which windows of one size the records of files make, and which of them
// are read. A unit is a position or a record.
type WindowForm struct {
	Size, Step int64 // units of a window, and from the begin of one to the next
	Each       int64 // units of a record
	Pad        bool  // a shorter last window of a file counts, too

	// First and End bound the records that are read, counted over all files; End is -1 for all.
	First, End int64
}

// OrderedWindows returns the records of windows in a computed order, in which parts, sizes and
// positions count windows. Its elements are a vector of records that carry their places, and
// vectors of where each window begins and ends in them, in units. An element has as many windows
// as it takes to have group records. A bad record is a failure, as in [OrderedRecords].
func OrderedWindows(s *graph.Scope, order *Order, w WindowForm, group tfbridge.Output) *dataset.Dataset {
	vector := func(d tfbridge.DataType) graph.Spec { return graph.Spec{DType: d, Shape: tfbridge.MakeShape(-1)} }
	specs := []graph.Spec{vector(tfbridge.String), vector(tfbridge.Int64), vector(tfbridge.Int64)}
	return add(s, opOrderedWindows, specs, order.attrs(), append(order.inputs(s, opOrderedWindows), w.input(s), group)...)
}

// input returns the form as an input of an operation.
func (w WindowForm) input(s *graph.Scope) tfbridge.Output {
	pad := int64(0)
	if w.Pad {
		pad = 1
	}
	return s.Const([]int64{w.Size, w.Step, w.Each, pad, w.First, w.End})
}

// OrderedWindowBatches returns batches of windows in a computed order, in which parts, sizes and
// positions count windows: a tensor [rows, units, ...] for each feature. Features are numeric and have
// a first axis, whose length is w.Each, or any if w.Each is 1: then a unit is a whole record. Up to
// 128 MiB of decoded records are kept, and are not read again for their other windows. Each record
// is checked when it is read. A bad one is a failure, as in [OrderedRecords].
func OrderedWindowBatches(s *graph.Scope, order *Order, w WindowForm, features []Feature, o *OrderedOptions) *dataset.Dataset {
	const op = opWindowBatches
	limit.Between(1, limit.PaddedDimension).Check(s, op+": size of windows", w.Size)
	static, inputs := order.batches(s, op, o)
	all := decodeAttrs(s, op, features)
	var windows, records []graph.Spec
	for i := range features {
		f := &features[i]
		if f.Kind == Bytes || len(f.Shape) == 0 || f.Shape[0] != w.Each && w.Each != 1 {
			s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "feature %q of shape %v: no numbers along a first axis of %d units", f.Key, f.Shape, w.Each))
		}
		if s.Err() != nil {
			return none(s)
		}
		record := f.spec(-1)
		dims := append([]int64{static, w.Size * (f.Shape[0] / w.Each)}, f.Shape[1:]...)
		windows = append(windows, graph.Spec{DType: record.DType, Shape: tfbridge.MakeShape(dims...)})
		records = append(records, record)
	}
	maps.Copy(all, order.attrs())
	all["record_types"], all["record_shapes"], all["whole_records"] = graph.DTypes(records), graph.Shapes(records), w.Each == 1
	const shared = 5 // inputs that all operations over an order have
	inputs = slices.Insert(inputs, shared, tfbridge.Input(w.input(s)))
	return add(s, op, windows, all, inputs...)
}
