package build

import (
	"context"
	"math"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// # How windows are read by their place
//
// The question: exact shuffling wants the windows of all files in any order. Files are
// too large to be cut first and shuffled then.
//
// The answer: windows have one size, so the number of a window says in which records it
// is, and where in them. Go reads those records by their places, for some windows at
// once, and says where each window begins and ends in what the records give. The rest
// is as for windows that are cut in order: the records are parsed to joined values, and
// the rows of the windows are gathered from these.
//
//	order     window 7        window 2        window 9
//	records   r14 r15 r16     r4 r5 r6        r18 r19 r20
//	values    aaaabbbbcccc    ddddeeeeffff    gggghhhhiiii
//	windows     |------|        |------|        |------|
//
// A record that two windows of a call share is read twice.

// windowsByPlace yields groups of windows in the order of the plan. A plan that
// [plan.Plan.Seeks] begins at window b.skip.
func (b *windowBuilder) windowsByPlace() *dataset.Dataset {
	s := b.scope
	scalar := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	vector := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)}
	results := []graph.Spec{scalar, scalar, {DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)}, vector, vector}
	begin := s.Const(int64(0))
	if b.plan.Seeks() {
		begin = b.skip
	}
	f := &windowFeed{recordFeed{plan: b.plan, scan: b.scan}}
	d := dataset.Range(s, 0, math.MaxInt64, 1)
	d = d.Scan("read_windows", []tfbridge.Output{s.Const(int64(0)), begin}, func(s *graph.Scope, state, _ []tfbridge.Output) (next, components []tfbridge.Output) {
		out := graph.GoFunction(s, graph.GoFunc{Name: "read_windows", Out: results, Fn: f.next, Pure: true}, state[0], state[1], b.group)
		if s.Err() != nil {
			return nil, nil
		}
		return out[:2], out[2:]
	})
	d = d.TakeWhile("any_windows", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return graph.Greater(s, graph.Size(s, args[1]), s.Const(int64(0)))
	})
	return d.Map("windows", b.placedWindows, b.mapOptions())
}

// placedWindows makes a group of windows, given records and where the windows begin and
// end in them.
func (b *windowBuilder) placedWindows(s *graph.Scope, args []tfbridge.Output) []tfbridge.Output {
	block := b.parseBlock(s, args[:1])
	if s.Err() != nil {
		return nil
	}
	return b.windowRows(s, args[1], args[2], withOffsets(b.plan, s, block[blockCounts:]))
}

// windowFeed hands the records of windows to TensorFlow, in the order of the plan.
type windowFeed struct{ recordFeed }

// next answers a call for the next windows. The arguments are the token, the position
// of the first of them, and how many records are worth a call.
func (f *windowFeed) next(ctx context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
	var numbers [2]int64
	for i, t := range args[1:] {
		v, err := tfbridge.View[int64](t)
		if err != nil {
			return nil, err
		}
		numbers[i] = v[0]
	}
	token := args[0]
	r, ok := tfbridge.FindToken(token).(*recordReader)
	if !ok || r.position != numbers[0] {
		var err error
		if r, token, err = f.open(numbers[0]); err != nil {
			return nil, err
		}
	}
	out, err := f.take(ctx, r, numbers[1])
	if err != nil {
		token.Close()
		return nil, err
	}
	return append([]*tfbridge.Tensor{token}, out...), nil
}

// take returns the position behind the windows, their records, and where they begin and
// end. It takes windows until they have so many records; none at the end.
func (f *windowFeed) take(ctx context.Context, r *recordReader, records int64) ([]*tfbridge.Tensor, error) {
	var w windowRecords
	r.buf = r.buf[:0]
	for ; r.position < r.end && int64(len(w.data)) < records; r.position++ {
		if err := w.add(ctx, r, r.position); err != nil {
			return nil, err
		}
	}
	at, err := tfbridge.NewTensor(r.position)
	if err != nil {
		return nil, err
	}
	out, err := w.tensors()
	if err != nil {
		at.Close()
		return nil, err
	}
	return append([]*tfbridge.Tensor{at}, out...), nil
}

// windowRecords are the records of some windows, one behind the other.
type windowRecords struct {
	data         [][]byte
	begins, ends []int64 // of each window, in the units of all data
	units        int64   // of all data
}

// add reads the records of the window at a position of the reader's order.
func (w *windowRecords) add(ctx context.Context, r *recordReader, position int64) error {
	file, at := r.order.WindowAt(position)
	for i := range at.Records {
		if ctx.Err() != nil {
			return millrace.Canceled(ctx, "")
		}
		record, err := r.read(file, at.Record+i)
		if err != nil {
			return err
		}
		w.data = append(w.data, record)
	}
	w.begins, w.ends = append(w.begins, w.units+at.Begin), append(w.ends, w.units+at.End)
	w.units += at.Records * r.plan.RecordUnits()
	return nil
}

// tensors returns the records, and where the windows begin and end.
func (w *windowRecords) tensors() ([]*tfbridge.Tensor, error) {
	text, err := tfbridge.NewStringTensor([]int64{int64(len(w.data))}, w.data)
	if err != nil {
		return nil, err
	}
	places, err := newInt64s([][]int64{{int64(len(w.begins))}, {int64(len(w.ends))}}, w.begins, w.ends)
	if err != nil {
		text.Close()
		return nil, err
	}
	return append([]*tfbridge.Tensor{text}, places...), nil
}
