package feed

import (
	"context"
	"slices"

	"millrace"
	"millrace/loaders/stage/order"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// Windows returns the function that yields the records of windows, in the order of the
// plan. Its arguments are the token, the position of the first window, and the number
// of records from which on a call returns. The position after the last window may follow. Where each window begins and ends follows
// the records. Where steps draw random numbers, the epoch and the number of each window
// come last. A bad record is an error, because a window with it would have a gap.
func Windows(s *Source) Func { return (&windowFeed{recordFeed{s.strict()}}).next }

// windowFeed yields the records of windows.
type windowFeed struct{ recordFeed }

// next answers a call for the next windows.
func (f *windowFeed) next(ctx context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
	r, token, records, err := f.begin(args)
	if err != nil {
		return nil, err
	}
	out, err := f.take(ctx, r, records)
	if err != nil {
		token.Close()
		return nil, err
	}
	return append([]*tfbridge.Tensor{token}, out...), nil
}

// take returns the position after the windows, their records, and where they begin and
// end. It takes windows until they have a number of records; none at the end.
func (f *windowFeed) take(ctx context.Context, r *recordReader, records int64) ([]*tfbridge.Tensor, error) {
	var w windowRecords
	var epochs, numbers []int64
	r.buf = r.buf[:0]
	for ; r.position < r.end && int64(len(w.data)) < records; r.position++ {
		if err := w.add(ctx, r, r.position); err != nil {
			return nil, err
		}
		if f.Draws {
			epochs = append(epochs, r.position/r.order.EpochRecords())
			numbers = append(numbers, r.order.Number(r.position))
		}
	}
	shapes, values := [][]int64{{}}, [][]int64{{r.position}}
	if f.Draws {
		n := []int64{int64(len(numbers))}
		shapes, values = append(shapes, n, n), append(values, epochs, numbers)
	}
	counted, err := NewInt64s(shapes, values...)
	if err != nil {
		return nil, err
	}
	out, err := w.tensors()
	if err != nil {
		for _, t := range counted {
			t.Close()
		}
		return nil, err
	}
	return slices.Concat(counted[:1], out, counted[1:]), nil
}

// windowRecords are the records of some windows in sequence.
type windowRecords struct {
	data         [][]byte
	begins, ends []int64 // bounds of each window, in the units of all data
	units        int64   // units of all data
}

// add reads the records of the window at a position of the reader's order.
func (w *windowRecords) add(ctx context.Context, r *recordReader, position int64) error {
	at := r.order.WindowAt(position)
	for i := range at.Records {
		if ctx.Err() != nil {
			return millrace.Canceled(ctx, "")
		}
		record, err := r.read(tfrecord.Location{File: at.File, Record: at.Record + i})
		if err != nil {
			return err
		}
		w.data = append(w.data, record)
	}
	w.begins, w.ends = append(w.begins, w.units+at.Begin), append(w.ends, w.units+at.End)
	w.units += at.Records * order.RecordUnits(r.Spec)
	return nil
}

// tensors returns the records, and where the windows begin and end.
func (w *windowRecords) tensors() ([]*tfbridge.Tensor, error) {
	text, err := tfbridge.NewStringTensor([]int64{int64(len(w.data))}, w.data)
	if err != nil {
		return nil, err
	}
	places, err := NewInt64s([][]int64{{int64(len(w.begins))}, {int64(len(w.ends))}}, w.begins, w.ends)
	if err != nil {
		text.Close()
		return nil, err
	}
	return append([]*tfbridge.Tensor{text}, places...), nil
}

// NewInt64s makes tensors of numbers.
func NewInt64s(shapes [][]int64, values ...[]int64) (tensors []*tfbridge.Tensor, err error) {
	for i, v := range values {
		var t *tfbridge.Tensor
		if t, err = tfbridge.NewTensorFromSlice(shapes[i], v); err != nil {
			break
		}
		tensors = append(tensors, t)
	}
	if err != nil {
		for _, t := range tensors {
			t.Close()
		}
		return nil, err
	}
	return tensors, nil
}
