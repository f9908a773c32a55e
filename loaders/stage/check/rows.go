package check

import (
	"maps"

	"millrace"
	"millrace/internal/base/figures"
	"millrace/loaders/spec"
)

// checkRows checks the sequences of one record: that aligned ones have one
// length, and that no row is longer than its fixed size.
func checkRows(s *spec.Spec, tensors map[string][]int64) error {
	k := s.Chunks
	var lengths []int64
	for _, q := range k.Sequences {
		lengths = append(lengths, tensors[q.Tensor][0])
	}
	if err := Aligned(s, lengths); err != nil {
		return err
	}
	others := maps.Clone(tensors)
	for i, q := range k.Sequences {
		if k.Cut.Rows(lengths[i]) > 0 {
			_, end := k.Cut.Row(0, lengths[i]) // no later row is longer
			if err := RowFits(s, i, end); err != nil {
				return err
			}
		}
		delete(others, q.Tensor)
	}
	return checkPadded(s, others)
}

// Aligned checks the lengths of a record's sequences, in the order of
// [spec.Chunks.Sequences]. The error does not name the record.
func Aligned(s *spec.Spec, lengths []int64) error {
	k := s.Chunks
	for i, q := range k.Sequences {
		if !k.Aligned || lengths[i] == lengths[0] {
			continue
		}
		e := millrace.Errorf(millrace.ErrSchema, "the sequences %s and %s have %d and %s; aligned sequences have one length",
			millrace.Quote(k.Sequences[0].Tensor), millrace.Quote(q.Tensor), lengths[0], figures.Plural(lengths[i], "frame", "frames"))
		e.Tensor = q.Tensor
		return e
	}
	return nil
}

// RowFits checks the number of frames in a row of sequence i, without context, against the
// size that rows are padded to. The error does not name the record.
func RowFits(s *spec.Spec, i int, frames int64) error {
	q := s.Chunks.Sequences[i]
	frames += q.Left + q.Right
	for _, pad := range s.Examples().Padding {
		if pad.Tensor != q.Tensor || pad.Shape[0] < 0 || frames <= pad.Shape[0] {
			continue
		}
		e := millrace.Errorf(millrace.ErrSchema, "a row of %s is larger than its padding, %d; pad to more, or to -1", figures.Plural(frames, "frame", "frames"), pad.Shape[0])
		e.Tensor = q.Tensor
		return e
	}
	return nil
}
