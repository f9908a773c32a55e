package plan

import (
	"fmt"
	"slices"
	"strings"

	"millrace/internal/figures"
	"millrace/loaders/spec"
)

// chunks adds the stages of a chunked_sequence up to its rows.
func (s *staging) chunks() {
	k := s.plan.Chunks
	if k == nil {
		return
	}
	if k.ShuffleSeqs > 1 {
		s.add("shuffle", "sequences in a buffer of "+figures.Count(k.ShuffleSeqs))
	}
	what := "whole sequences"
	if cut := k.Cut; !cut.Whole() {
		what = fmt.Sprintf("%s, one every %s", figures.Plural(cut.Size, "frame", "frames"), figures.Count(cut.Step))
		if cut.DropTail {
			what += ", shorter ones are dropped"
		}
	}
	var rows []spec.TensorSpec
	for _, q := range k.Sequences {
		if q.Left+q.Right > 0 {
			what += fmt.Sprintf("; %s with %d frames before and %d after", q.Tensor, q.Left, q.Right)
		}
	}
	for _, t := range s.plan.Tensors {
		if slices.ContainsFunc(k.Sequences, func(q spec.Sequence) bool { return q.Tensor == t.Name }) {
			rows = append(rows, t)
		}
	}
	if k.Aligned {
		what += "; sequences of a record have one length"
	}
	s.change("chunks", what, rows...)
	s.outputs()
	if k.ShuffleChunks > 1 {
		s.add("shuffle", "rows in a buffer of "+figures.Count(k.ShuffleChunks))
	}
}

// outputs adds the tensors that tell what a row is.
func (s *staging) outputs() {
	k := s.plan.Chunks
	what := map[spec.RowOutputKind]string{
		spec.SeqTag:     "the place of each row's record",
		spec.SeqIdx:     "the position of each row's sequence in the epoch's order",
		spec.ChunkStart: "each row's first frame without context",
		spec.EpochEnd:   "whether a row is the last of an epoch",
	}
	if k.TagFeature != nil {
		what[spec.SeqTag] = "feature " + k.TagFeature.Name + " of each row's record"
	}
	for _, o := range k.Outputs {
		text := what[o.Kind]
		if o.Kind == spec.RowSize {
			text = "frames of " + o.Of + " in each row, with context"
		}
		s.change("output", text, s.plan.Tensor(o.To))
	}
}

// order adds the order of a chunked_sequence's sequences.
func (s *staging) order() {
	k := s.plan.Chunks
	if k == nil {
		return
	}
	order := k.Order.String() + " order of sequences"
	if k.Partition > 1 {
		order += fmt.Sprintf(", an epoch takes one of %s parts", figures.Count(k.Partition))
	}
	s.add("order", order)
}

// budget says what fits a batch of rows.
func (s *staging) budget() string {
	k := s.plan.Chunks
	var names []string
	for _, q := range k.Sequences {
		names = append(names, q.Tensor)
	}
	what := fmt.Sprintf("rows of up to %s of each of %s", figures.Plural(s.plan.BatchSize, "frame", "frames"), strings.Join(names, ", "))
	if k.MaxSeqs > 0 {
		what += ", at most " + figures.Plural(k.MaxSeqs, "row", "rows")
	}
	return what + ", padding included; an epoch's end ends its last batch"
}
