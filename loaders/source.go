package loaders

import (
	"strings"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// records builds the stream of serialized records of one pass: file names,
// their shuffle, and the interleave of the files.
func (b *builder) records() *dataset.Dataset {
	paths := make([]string, len(b.plan.Files))
	for i, f := range b.plan.Files {
		paths[i] = f.Path
	}
	names := b.scope.Const(paths)
	if b.plan.applied(rewriteJoinFiles) {
		return b.joined(names)
	}
	return b.interleaved(names)
}

// joined reads one file after another with one reader. The number of records
// is asserted for all files together: TensorFlow takes many truncated files
// for shorter ones (see docs/robustness.md).
func (b *builder) joined(names tfbridge.Output) *dataset.Dataset {
	d := dataset.TFRecords(b.scope, names, b.recordOptions())
	total, ok := b.scan.Records()
	if !ok {
		return d
	}
	return d.AssertCardinality(b.scope.Const(total))
}

// interleaved reads MixFiles files in turns, one record of each at a time,
// and asserts the number of records file by file.
func (b *builder) interleaved(names tfbridge.Output) *dataset.Dataset {
	counts := make([]int64, len(b.plan.Files))
	for i := range counts {
		counts[i] = b.scan.count(i)
	}
	files := dataset.FromSlices(b.scope, names, b.scope.Const(counts))
	sh := b.plan.Shuffle
	if sh != nil {
		seed, seed2 := b.seeds(streamNames)
		files = files.Shuffle(sh.Filenames, &dataset.ShuffleOptions{Seed: seed, Seed2: seed2})
	}
	return files.Interleave("read_file", b.readFile, b.interleaveOptions())
}

// readFile is the body of the interleave: the records of one file.
func (b *builder) readFile(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
	d := dataset.TFRecords(s, args[0], b.recordOptions())
	if _, ok := b.scan.Records(); !ok {
		return d
	}
	return d.AssertCardinality(args[1])
}

func (b *builder) recordOptions() *dataset.TFRecordsOptions {
	return &dataset.TFRecordsOptions{
		Compression: strings.ToUpper(string(b.plan.Manifest.Compression)),
		BufferBytes: b.plan.ReadBufferBytes,
		Unbuffered:  b.plan.ReadBufferBytes == 0,
	}
}

func (b *builder) interleaveOptions() *dataset.InterleaveOptions {
	o := &dataset.InterleaveOptions{
		CycleLength: 1,
		BlockLength: 1,
		Parallel:    b.plan.ParallelReads,
		Sloppy:      b.plan.Sloppy,
		InBuffer:    b.plan.InterleaveIn,
		OutBuffer:   b.plan.InterleaveOut,
	}
	if sh := b.plan.Shuffle; sh != nil {
		o.CycleLength = sh.MixFiles
	}
	return o
}
