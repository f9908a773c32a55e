package examples

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/tfbridge"
)

// ReadsFiles reports whether the operation that decodes the records natively reads the
// files as well.
func (b *Builder) ReadsFiles() bool {
	switch {
	case !b.Engine.Native().Applied || b.bucketed():
		return false
	case b.Engine.ComputesOrder():
		return !b.Parse.Lists || b.OrdersNatively()
	}
	return b.Engine.JoinFiles().Applied || b.feedsGroups()
}

// feedsGroups reports whether Go reads and checks the records, one file after the
// other, and passes them on in vectors.
func (b *Builder) feedsGroups() bool {
	return !b.Parse.Lists && b.Engine.ChecksRecords() && !b.Engine.JoinFiles().Applied && b.Shuffling == nil
}

// Native builds all stages up to the batches with operations that read the files, decode
// the records and batch them.
func (b *Builder) Native() *dataset.Dataset {
	if b.Parse.Lists {
		return b.lists(b.nativeLists)
	}
	switch {
	case b.Engine.ComputesOrder() && !b.OrdersNatively():
		return b.decodeGroups(b.GroupsInOrder())
	case b.Engine.ComputesOrder():
		return b.finish(native.OrderedExamples(b.Scope, b.NativeOrder(), b.parser.NativeFeatures(), b.orderedOptions()))
	case b.feedsGroups():
		return b.decodeGroups(b.fedGroups())
	}
	paths, counts := b.CountedFiles()
	return b.finish(native.Examples(b.Scope, b.Scope.Const(paths), b.Scope.Const(counts), b.parser.NativeFeatures(), b.nativeOptions()))
}

// ParseNative builds the stages from parsing up to the batches with an operation that
// decodes a stream of records.
func (b *Builder) ParseNative(d *dataset.Dataset) *dataset.Dataset {
	if b.Parse.Lists {
		return b.lists(func(q *native.Sequence) *dataset.Dataset { return b.parseLists(d, q) })
	}
	if b.Filters() {
		return b.decodeGroups(d.BatchOutput(b.Group, false))
	}
	return b.finish(native.Parse(d, b.batch.Size, b.parser.NativeFeatures(), b.parseOptions()))
}

func (b *Builder) finish(d *dataset.Dataset) *dataset.Dataset {
	if b.Filters() {
		return b.batch.Filtered(d)
	}
	return b.batch.Finish(d, b.Numbered)
}

// decodeGroups decodes vectors of records, and makes batches of them.
func (b *Builder) decodeGroups(d *dataset.Dataset) *dataset.Dataset {
	d = d.Map("decode", func(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
		o := b.Located(s)
		return native.Decode(s, args[0], b.parser.NativeFeatures(), &o)
	}, b.MapOptions())
	if b.Filters() {
		return b.finish(d)
	}
	return b.finish(d.Rebatch(b.batch.Size, b.batch.Full()))
}

// fedGroups yields the records of all epochs that Go reads and checks, one file after
// the other, as vectors: see [source.Records.GroupsInOrder].
func (b *Builder) fedGroups() *dataset.Dataset {
	return b.ListFiles(b.Scope).FlatMap("read_file", func(s *graph.Scope, file []tfbridge.Output) *dataset.Dataset {
		return b.FedVectors(s, file[2])
	}).Repeat(b.Repeats())
}
