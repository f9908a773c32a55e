package stage

import (
	"fmt"
	"slices"

	"millrace/internal/base/figures"
	"millrace/loaders/engine"
	"millrace/loaders/spec"
	"millrace/loaders/stage/chunk"
)

// Chunks cuts sequences into the rows of batches.
type Chunks struct {
	*spec.Chunks
	Tensors []spec.TensorSpec // the sequences
}

// Output adds a tensor that identifies or describes each row.
type Output struct {
	spec.RowOutput
	TagFeature *spec.Feature // the feature that is the tag; nil = the location of the row's record
	Tensor     spec.TensorSpec
}

// rows returns the stages of a chunked_sequence up to its rows.
func rows(c engine.Choice) (list []Stage) {
	k := c.Chunks
	if k == nil {
		return nil
	}
	if k.ShuffleSeqs > 1 {
		list = append(list, Shuffle{OfSequences, k.ShuffleSeqs})
	}
	isSequence := func(t spec.TensorSpec) bool {
		return slices.ContainsFunc(k.Sequences, func(q spec.Sequence) bool { return q.Tensor == t.Name })
	}
	others := func(t spec.TensorSpec) bool { return !isSequence(t) }
	list = append(list, Chunks{k, slices.DeleteFunc(slices.Clone(c.Examples().Tensors), others)})
	for _, o := range k.Outputs {
		list = append(list, Output{o, k.TagFeature, c.Tensor(o.To)})
	}
	if k.ShuffleChunks > 1 {
		list = append(list, Shuffle{OfRows, k.ShuffleChunks})
	}
	return list
}

// Explain says how rows are cut.
func (k Chunks) Explain() Explained {
	what := "whole sequences"
	if cut := k.Cut; !cut.Whole() {
		what = fmt.Sprintf("%s, one every %s", figures.Plural(cut.Size, "frame", "frames"), figures.Count(cut.Step))
		if cut.DropTail {
			what += ", shorter ones are dropped"
		}
	}
	for _, q := range k.Sequences {
		if q.Left+q.Right > 0 {
			what += fmt.Sprintf("; %s with %d frames before and %d after", q.Tensor, q.Left, q.Right)
		}
	}
	if k.Aligned {
		what += "; sequences of a record have one length"
	}
	return Explained{Name: "chunks", What: what, Tensors: tensorsOf(k.Tensors...)}
}

// Explain says what the tensor holds.
func (o Output) Explain() Explained {
	what := map[spec.RowOutputKind]string{
		spec.SeqTag:     "the place of each row's record",
		spec.SeqIdx:     "the position of each row's sequence in the epoch's order",
		spec.ChunkStart: "each row's first frame without context",
		spec.EpochEnd:   "whether a row is the last of an epoch",
		spec.RowSize:    "frames of " + o.Of + " in each row, with context",
	}[o.Kind]
	if o.Kind == spec.SeqTag && o.TagFeature != nil {
		what = "feature " + o.TagFeature.Name + " of each row's record"
	}
	return Explained{Name: "output", What: what, Tensors: tensorsOf(o.Tensor)}
}

// count returns how many rows a sequence is cut into, if all have one length. How many rows
// are lost with a bad record is not known.
func (k Chunks) count(in Count, d Data) (Count, bool) {
	frames, equal := chunk.Frames(d.Spec)
	in.Rows = k.Cut.Rows(frames)
	return in, d.BadRecords == nil && (equal || k.Cut.Whole())
}
