package source

import (
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/build/parse"
	"millrace/loaders/build/target"
	"millrace/tfbridge"
)

// Records reads serialized records.
type Records struct {
	Epochs
	parser *parse.Parser
}

// New returns the records of t.
func New(t *target.Target) *Records { return &Records{Epochs{t}, parse.New(t)} }

// Stream builds the stream of serialized records of all epochs: file names,
// their shuffle, the interleave of the files and the shuffle of the records.
func (r *Records) Stream() *dataset.Dataset {
	if r.HoldsPositions() {
		return r.afterHeld()
	}
	if r.Draws() {
		return r.dated()
	}
	switch {
	case r.ByPosition:
		return r.byPosition()
	case r.Shuffling == nil:
		return r.Joined(r.Scope).Repeat(r.Repeats())
	case r.Engine.Seeks():
		return r.From(r.shuffledPass, r.resumedRecords)
	case r.Engine.Replays():
		return r.replayedRecords(r.shuffledPass)
	}
	return r.All(r.shuffledPass)
}

// Joined reads one file after another. Our own operation checks the number of each
// file's records, and so does [Records.ReadFile].
func (r *Records) Joined(s *graph.Scope) *dataset.Dataset {
	if !r.Engine.ReadsNatively() && !r.Engine.ChecksNatively() {
		return r.ListFiles(s).FlatMap("read_file", r.ReadFile)
	}
	paths, counts := r.CountedFiles()
	return native.Records(s, s.Const(paths), s.Const(counts), r.LocatedOptions(tfbridge.Output{}))
}

// shuffledPass reads several files in turns, one record of each at a time.
func (r *Records) shuffledPass(s *graph.Scope, epoch tfbridge.Output) *dataset.Dataset {
	return r.Mixed(s, epoch, "read_file", r.ReadFile)
}

// ReadFile returns the records of one of [Epochs.ListFiles]. Where our own
// operations do not read them Go does, and their number is asserted.
func (r *Records) ReadFile(s *graph.Scope, file []tfbridge.Output) *dataset.Dataset {
	name, count, ordinal := file[0], file[1], file[2]
	if r.Engine.ReadsNatively() || r.Engine.ChecksNatively() {
		return native.Records(s, name, count, r.LocatedOptions(ordinal))
	}
	d := r.fedRecords(s, ordinal)
	if r.Skipped != nil {
		return d // the number of good records is not known
	}
	return d.AssertCardinality(count)
}

// LocatedOptions returns the options for records that carry their places, so
// that [Records.Located] can name the place of a bad one. The number of the
// first file is 0 if first is not set.
func (r *Records) LocatedOptions(first tfbridge.Output) *native.RecordsOptions {
	o := &native.RecordsOptions{
		Compression: r.Reading.Compression.TensorFlow(),
		BufferBytes: r.Reading.BufferBytes,
		Placed:      true,
		FirstFile:   first,
	}
	if r.Engine.ChecksNatively() {
		o.Check, o.Good = r.Feed().CheckDoubtful, r.goodRecords()
	}
	o.Skip = r.Skips()
	return o
}

// goodRecords returns the components to which the native operation decodes good
// records.
func (r *Records) goodRecords() *native.GoodRecords {
	good := &native.GoodRecords{Examples: !r.Parse.SequenceExamples, Features: r.parser.NativeFeatures()}
	for _, f := range r.Parse.Features {
		most := int64(-1)
		for i, t := range r.Out.Tensors {
			if f.VarLen && r.Out.Padding != nil && r.Parse.FeatureOf(t.Name) == f {
				most = shorter(most, r.Out.Padding[i].Shape[0])
			}
		}
		good.Most = append(good.Most, most)
	}
	return good
}

// shorter returns the smaller one of two lengths. -1 is any length.
func shorter(a, b int64) int64 {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// resumedRecords is [Records.shuffledPass] after a number of records.
func (r *Records) resumedRecords(s *graph.Scope, epoch, behind tfbridge.Output) *dataset.Dataset {
	return r.read(r.ShuffledNumbers(s, epoch, behind))
}

// replayedRecords builds the records of all epochs from number r.Skip on.
func (r *Records) replayedRecords(pass PassFunc) *dataset.Dataset {
	first, behind := r.replayFrom()
	return dataset.RangeOutput(r.Scope, first, r.end()).FlatMap("epoch", func(s *graph.Scope, args []tfbridge.Output) *dataset.Dataset {
		begun := graph.Cast(s, graph.Equal(s, args[0], first), tfbridge.Int64)
		return pass(s, args[0]).SkipOutput(graph.Mul(s, behind, begun))
	})
}
