package plan

import (
	"context"
	"fmt"

	"millrace"
	"millrace/internal/figures"
	"millrace/loaders/chunks"
	"millrace/loaders/spec"
	"millrace/loaders/stage/check"
	"millrace/loaders/stage/order"
	"millrace/tfrecord"
)

// FramesOf returns how many frames a record's sequence has, if that is known
// before the data are read: those of the default input behind the steps.
func (p *Plan) FramesOf() (frames int64, known bool) {
	first := p.defaultInput()
	if first.From.VarLen {
		return 0, false
	}
	return p.stepped(first.To, first.From.TensorShape()[0]), true
}

// defaultInput returns the primary feature whose length is that of a record's
// sequence.
func (p *Plan) defaultInput() spec.Primary {
	for _, primary := range p.Primaries {
		if primary.To == p.Chunks.Sequences[0].Tensor {
			return primary
		}
	}
	return p.Primaries[0]
}

// stepped returns how many frames the processing steps leave of a sequence.
func (p *Plan) stepped(tensor string, frames int64) int64 {
	for _, step := range p.Steps {
		if step.Tensor == tensor {
			frames = step.Indices[0].Length(frames)
		}
	}
	return frames
}

// scanSequences finds the lengths of all sequences if their order needs them.
// Data that give no row are an error.
func (p *Plan) scanSequences(ctx context.Context, scan *Scan) error {
	if err := p.findLengths(ctx, scan); err != nil {
		return err
	}
	if p.Epochs == 1 {
		return nil // the end of the run tells
	}
	return p.CheckRows(ctx, scan)
}

// findLengths reads the length of every sequence in one pass over the data.
func (p *Plan) findLengths(ctx context.Context, scan *Scan) error {
	records, known := scan.Records()
	if !p.Chunks.Order.NeedsLengths() || !known {
		return nil
	}
	scan.Lengths = make([]int32, records) // 0 for one that is left out
	return p.eachLength(ctx, scan, func(sequence, frames int64) bool {
		scan.Lengths[sequence] = int32(min(frames, 1<<31-1))
		return true
	})
}

// eachLength calls a function with the number and the length of every sequence of the
// local files, in their order, until it returns false.
func (p *Plan) eachLength(ctx context.Context, scan *Scan, visit func(sequence, frames int64) bool) error {
	first := p.defaultInput()
	before, more := int64(0), true
	for i, f := range p.Files {
		if f.Remote {
			continue
		}
		err := p.eachRecord(ctx, scan, i, func(record tfrecord.Record) (bool, error) {
			var frames int64
			var err error
			if !first.From.VarLen {
				frames = first.From.TensorShape()[0]
			} else if frames, err = check.ListLength(p.Spec, record.Data, first.From); err != nil {
				return false, err
			}
			more = visit(before+record.Ordinal, p.stepped(first.To, frames))
			return more, nil
		})
		if err != nil {
			return p.blame(err)
		}
		if !more {
			return nil
		}
		before += scan.Count(i)
	}
	return nil
}

// CheckRows returns an error if no sequence gives a row. It reads as far as it
// takes, and returns nil if only TensorFlow can tell.
func (p *Plan) CheckRows(ctx context.Context, scan *Scan) error {
	records, known := scan.Records()
	if !known {
		return nil
	}
	found := false
	if frames, equal := p.FramesOf(); p.Chunks.Cut.Whole() || equal {
		found = records > 0 && p.Chunks.Cut.Rows(frames) > 0
	} else if err := p.eachLength(ctx, scan, func(_, frames int64) bool {
		found = p.Chunks.Cut.Rows(frames) > 0
		return !found
	}); err != nil {
		return err
	}
	if found {
		return nil
	}
	return p.NoRow()
}

// NoRow returns the error of data that give no row.
func (p *Plan) NoRow() *millrace.Error {
	e := millrace.Errorf(millrace.ErrSchema, "the data give no batch: there is no record")
	e.Loader = p.Path
	switch cut := p.Chunks.Cut; {
	case cut.DropTail:
		e.Msg = fmt.Sprintf("the data give no chunk: no sequence has %s, and tail is drop", figures.Plural(cut.Size, "frame", "frames"))
		e.Key = "args.tail"
	case !cut.Whole():
		e.Msg = "the data give no chunk: no sequence has a frame"
		e.Key = "args.chunk_size"
	}
	return e
}

// chunkRows returns how many rows all epochs give, if that is known.
func (p *Plan) chunkRows(scan *Scan) (rows int64, known bool) {
	_, counted := scan.Records()
	frames, equal := p.FramesOf()
	if !counted || p.Epochs == 0 || !equal && !p.Chunks.Cut.Whole() {
		return 0, false
	}
	parts := p.Chunks.Partition
	n := order.Sequences(p.Spec, scan)
	if p.Records != nil && p.Records.Shards > 1 {
		if parts > 1 {
			return 0, false // the shards of the parts differ in size
		}
		begin, end := order.EpochPart(p.Spec, scan, 0)
		n = end - begin
	}
	begin, _ := chunks.Part(n, parts, p.Epochs%parts)
	return (p.Epochs/parts*n + begin) * p.Chunks.Cut.Rows(frames), true
}
