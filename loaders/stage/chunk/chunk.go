// Package chunk measures the sequences from which a chunked_sequence cuts rows. It needs no
// TensorFlow.
//
//	frames, known := chunk.Frames(s)
package chunk

import (
	"context"
	"fmt"
	"slices"

	"millrace"
	"millrace/internal/base/figures"
	"millrace/loaders/scan"
	"millrace/loaders/spec"
	"millrace/loaders/stage/check"
	"millrace/tfrecord"
)

// Frames returns how many frames a record's sequence has, if that is known
// before the data are read: those of the default input after the steps.
func Frames(s *spec.Spec) (frames int64, known bool) {
	first := defaultInput(s)
	if first.From.VarLen {
		return 0, false
	}
	return stepped(s, first, first.From.TensorShape()[0]), true
}

// defaultInput returns the primary feature whose length is that of a record's
// sequence.
func defaultInput(s *spec.Spec) spec.Primary {
	for _, primary := range s.Primaries {
		if primary.To == s.Chunks.Sequences[0].Tensor {
			return primary
		}
	}
	return s.Primaries[0]
}

// stepped returns the number of frames that a sequence has after the processing steps,
// given the feature it is read from.
func stepped(s *spec.Spec, primary spec.Primary, frames int64) int64 {
	shape := slices.Clone(primary.From.TensorShape())
	shape[0] = frames
	for _, step := range s.Steps {
		if step.Writes != primary.To {
			continue
		}
		out, known, err := step.Shape(shape)
		if err != nil || !known || len(out) == 0 {
			return frames // reported when the record is read or processed
		}
		shape, frames = out, out[0]
	}
	return frames
}

// Scan finds the lengths of all sequences if their order needs them.
// Data that give no row are an error.
func Scan(ctx context.Context, s *spec.Spec, found *scan.Scan) error {
	if err := findLengths(ctx, s, found); err != nil {
		return err
	}
	if s.Epochs == 1 {
		return nil // a run reports this at its end
	}
	return CheckRows(ctx, s, found)
}

// findLengths reads the length of every sequence in one pass over the data.
func findLengths(ctx context.Context, s *spec.Spec, found *scan.Scan) error {
	records, known := found.Records()
	if !s.Chunks.Order.NeedsLengths() || !known {
		return nil
	}
	found.Lengths = make([]int32, records) // 0 for one that is skipped
	return eachLength(ctx, s, found, func(sequence, frames int64) bool {
		found.Lengths[sequence] = int32(min(frames, 1<<31-1))
		return true
	})
}

// eachLength calls a function with the number and the length of every sequence of the
// local files, in their order, until it returns false.
func eachLength(ctx context.Context, s *spec.Spec, found *scan.Scan, visit func(sequence, frames int64) bool) error {
	first := defaultInput(s)
	before, more := int64(0), true
	for i, f := range s.Files {
		if f.Remote {
			continue
		}
		err := check.EachRecord(ctx, s, i, found.Indexes[i], func(record tfrecord.Record) (bool, error) {
			frames, err := check.Length(s, record.Data, first.From)
			if err != nil {
				return false, err
			}
			more = visit(before+record.Ordinal, stepped(s, first, frames))
			return more, nil
		})
		if err != nil {
			return check.Blame(s, err)
		}
		if !more {
			return nil
		}
		before += found.Count(i)
	}
	return nil
}

// CheckRows returns an error if no sequence gives a row. It reads only until the first row,
// and returns nil if only TensorFlow can read the files.
func CheckRows(ctx context.Context, s *spec.Spec, found *scan.Scan) error {
	records, known := found.Records()
	if !known {
		return nil
	}
	gives := false
	if frames, equal := Frames(s); s.Chunks.Cut.Whole() || equal {
		gives = records > 0 && s.Chunks.Cut.Rows(frames) > 0
	} else if err := eachLength(ctx, s, found, func(_, frames int64) bool {
		gives = s.Chunks.Cut.Rows(frames) > 0
		return !gives
	}); err != nil {
		return err
	}
	if gives {
		return nil
	}
	return NoRow(s)
}

// NoRow returns the error for data that give no row.
func NoRow(s *spec.Spec) *millrace.Error {
	e := millrace.Errorf(millrace.ErrSchema, "the data give no batch: there is no record")
	e.Loader = s.Path
	switch cut := s.Chunks.Cut; {
	case cut.DropTail:
		e.Msg = fmt.Sprintf("the data give no chunk: no sequence has %s, and tail is drop", figures.Plural(cut.Size, "frame", "frames"))
		e.Key = "args.tail"
	case !cut.Whole():
		e.Msg = "the data give no chunk: no sequence has a frame"
		e.Key = "args.chunk_size"
	}
	return e
}
