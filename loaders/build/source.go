package build

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// records builds the stream of serialized records of all epochs: file names,
// their shuffle, the interleave of the files and the shuffle of the records.
func (b *builder) records() *dataset.Dataset {
	if b.plan.Shuffle == nil {
		return b.joined().Repeat(b.repeats())
	}
	return b.epochs(b.shuffledPass)
}

// joined reads one file after another with one reader. The number of records
// is asserted for all files together: TensorFlow takes many truncated files
// for shorter ones (see docs/robustness.md).
func (b *builder) joined() *dataset.Dataset {
	paths := make([]string, len(b.plan.Files))
	for i, f := range b.plan.Files {
		paths[i] = f.Path
	}
	d := dataset.TFRecords(b.scope, b.scope.Const(paths), b.recordOptions())
	total, ok := b.scan.Records()
	if !ok {
		return d
	}
	return d.AssertCardinality(b.scope.Const(total))
}

// shuffledPass reads MixFiles files in turns, one record of each at a time,
// and asserts the number of records file by file.
func (b *builder) shuffledPass(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	sh := b.plan.Shuffle
	d := b.shuffle(b.files(s), sh.Filenames, streamNames, epoch)
	d = d.Interleave("read_file", b.readFile, b.interleaveOptions())
	return b.shuffle(d, sh.Elements, streamRecords, epoch)
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
		Compression: b.plan.Manifest.Compression.TensorFlow(),
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

// files lists the files: name, number of records (-1 if not counted) and
// ordinal.
func (b *builder) files(s *graph.Scope) *dataset.Dataset {
	var names []string
	var counts, ordinals []int64
	for i, f := range b.plan.Files {
		names = append(names, f.Path)
		counts = append(counts, b.scan.Count(i))
		ordinals = append(ordinals, int64(i))
	}
	return dataset.FromSlices(s, s.Const(names), s.Const(counts), s.Const(ordinals))
}
