package build

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/tfbridge"
)

// records builds the stream of serialized records of all epochs: file names,
// their shuffle, the interleave of the files and the shuffle of the records.
func (b *builder) records() *dataset.Dataset {
	if b.plan.Engine().HoldsPositions() {
		return b.recordsBehindHeld()
	}
	switch {
	case b.plan.Records != nil:
		return b.recordsByPlace()
	case b.plan.Shuffle == nil:
		return b.joined(b.scope).Repeat(b.repeats())
	case b.plan.Engine().Seeks():
		return b.epochsFrom(b.shuffledPass, b.resumedRecords)
	case b.plan.Engine().Replays():
		return b.replayedRecords()
	}
	return b.epochs(b.shuffledPass)
}

// joined reads one file after another. Our own operation holds each file to the
// number of its records, and so does [builder.readFile].
func (b *builder) joined(s *graph.Scope) *dataset.Dataset {
	if !b.plan.Engine().ReadsNatively() && !b.plan.Engine().ChecksNatively() {
		return b.files(s).FlatMap("read_file", b.readFile)
	}
	paths, counts := b.countedFiles()
	return native.Records(s, s.Const(paths), s.Const(counts), b.placedOptions(tfbridge.Output{}))
}

// shuffledPass reads MixFiles files in turns, one record of each at a time.
func (b *builder) shuffledPass(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	sh := b.plan.Shuffle
	d := b.shuffle(b.files(s), sh.Filenames, streamNames, epoch)
	d = d.Interleave("read_file", b.readFile, b.interleaveOptions())
	return b.shuffle(d, sh.Elements, streamRecords, epoch)
}

// readFile returns the records of one of [builder.files]. Where our own
// operations do not read them Go does, and their number is asserted.
func (b *builder) readFile(s *graph.Scope, file []tfbridge.Output) *dataset.Dataset {
	name, count, ordinal := file[0], file[1], file[2]
	if b.plan.Engine().ReadsNatively() || b.plan.Engine().ChecksNatively() {
		return native.Records(s, name, count, b.placedOptions(ordinal))
	}
	d := b.fedRecords(s, ordinal)
	if b.left != nil {
		return d // the number of good records is not known
	}
	return d.AssertCardinality(count)
}

// placedOptions returns the options for records that carry their places, so
// that [builder.placedFiles] can name the place of a bad one. The number of the
// first file is 0 if first is not set.
func (b *builder) placedOptions(first tfbridge.Output) *native.RecordsOptions {
	o := &native.RecordsOptions{
		Compression: b.plan.Manifest.Compression.TensorFlow(),
		BufferBytes: b.plan.ReadBufferBytes,
		Placed:      true,
		FirstFile:   first,
	}
	if b.plan.Engine().ChecksNatively() {
		o.Judge, o.Good = b.source().Judge, b.goodRecords()
	}
	return o
}

// goodRecords returns what the native operation decodes good records to.
func (b *builder) goodRecords() *native.GoodRecords {
	good := &native.GoodRecords{Examples: !b.plan.Manifest.AllowVarLen, Features: b.nativeFeatures()}
	for _, f := range b.plan.SortedFeatures() {
		most := int64(-1)
		for i, t := range b.plan.Tensors {
			if f.VarLen && b.plan.Padding != nil && b.plan.FeatureOf(t.Name) == f {
				most = shorter(most, b.plan.Padding[i].Shape[0])
			}
		}
		good.Most = append(good.Most, most)
	}
	return good
}

// shorter returns the smaller one of two lengths, of which -1 is any.
func shorter(a, b int64) int64 {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// placedFiles returns the options for decoding records, which carry their places
// if they come from files.
func (b *builder) placedFiles(s *graph.Scope) native.DecodeOptions {
	if b.unplaced {
		return native.DecodeOptions{}
	}
	paths, _ := b.countedFiles()
	return native.DecodeOptions{PlacedFiles: s.Const(paths)}
}

func (b *builder) interleaveOptions() *dataset.InterleaveOptions {
	files, buffered := b.plan.Engine().ParallelFiles(b.scan)
	o := &dataset.InterleaveOptions{
		CycleLength: 1,
		BlockLength: 1,
		Parallel:    files,
		Sloppy:      b.plan.Sloppy,
		InBuffer:    b.plan.InterleaveIn,
		OutBuffer:   buffered,
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
