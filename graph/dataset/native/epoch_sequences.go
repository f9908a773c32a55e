package native

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// SequenceOrder says which sequences an epoch takes, and in which order: see package chunks of
// the loaders. A sequence is a record of plain local files.
type SequenceOrder struct {
	Filenames tfbridge.Output // string vector
	Counts    tfbridge.Output // int64 vector: the records of each file
	Lengths   tfbridge.Output // uint32 vector: the data bytes of all records, file after file
	Frames    tfbridge.Output // int32 vector: how long all sequences are; empty where Ordering does not ask

	Ordering    string // "default", "reverse", "sorted", "sorted_reverse", "random" or "laplace"
	Bins        int64  // number of bins; only laplace has some
	Seed        int64
	First, Size int64 // first record and number of records
	Partition   int64 // epochs that share one order, a part each; default 1

	// Shard is the part of an epoch that is read, and Shards how many there are; default 1.
	Shard, Shards int64

	Threads int64 // readers; default 1

	// Parts are the datasets of a mixture, from which Size sequences are drawn; First is 0
	// then. Empty: the sequences are those from First on.
	Parts []SequencePart

	Skip []Skip // records to skip
}

// SequencePart is a dataset of a mixture of sequences.
type SequencePart struct {
	OrderPart
	Bins int64 // number of bins for its sequences; only laplace has some
}

// EpochSequences returns the records of an epoch, an int64 scalar, in its order. Each is a
// string that carries its place. A bad record is a failure, as in [OrderedRecords].
func EpochSequences(s *graph.Scope, o *SequenceOrder, epoch tfbridge.Output) *dataset.Dataset {
	specs := []graph.Spec{{DType: tfbridge.String, Shape: tfbridge.ScalarShape()}}
	all := attrs{
		"ordering": o.Ordering, "bins": o.Bins, "seed": o.Seed, "first": o.First, "size": o.Size,
		"partition": max(o.Partition, 1), "shard": o.Shard, "shards": max(o.Shards, 1), "threads": max(o.Threads, 1),
	}
	var parts []int64
	for _, p := range o.Parts {
		parts = append(parts, p.First, p.Records, p.Threshold, p.Bins)
	}
	if len(parts) > 0 {
		all["parts"] = parts
	}
	addSkips(s, opEpochSequences, o.Skip, nil, all)
	return add(s, opEpochSequences, specs, all, o.Filenames, o.Counts, o.Lengths, o.Frames, epoch)
}
