package build

import (
	"context"
	"errors"
	"math"
	"syscall"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/plan"
	"millrace/loaders/quarantine"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// recordsByPlace yields the records of all epochs in the order of the plan. Where
// Millrace's own operations read records, they carry their places. Else Go reads them
// by their places and checks them, as [feed] does.
func (b *builder) recordsByPlace() *dataset.Dataset {
	if b.plan.ReadsNatively() {
		return native.OrderedRecords(b.scope, b.nativeOrder())
	}
	return b.vectorsByPlace(b.scope.Const(int64(0))).Unbatch()
}

// groupsByPlace yields the records that are parsed at once, as vectors: an element
// costs tf.data more time than a record takes to read and to decode.
func (b *builder) groupsByPlace() *dataset.Dataset { return b.vectorsByPlace(b.group) }

// vectorsByPlace yields vectors of so many records, an int64 scalar, but for the last
// one; for 0 of as many as fit the read buffer. A plan that [plan.Plan.Seeks] begins
// at record b.skip: no record before it is read.
func (b *builder) vectorsByPlace(records tfbridge.Output) *dataset.Dataset {
	s := b.scope
	scalar := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	results := []graph.Spec{scalar, scalar, {DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)}}
	begin := s.Const(int64(0))
	if b.plan.Seeks() {
		begin = b.skip
	}
	f := &recordFeed{plan: b.plan, scan: b.scan, left: b.left, passed: b.passed}
	d := dataset.Range(s, 0, math.MaxInt64, 1)
	d = d.Scan("read_by_place", []tfbridge.Output{s.Const(int64(0)), begin}, func(s *graph.Scope, state, _ []tfbridge.Output) (next, components []tfbridge.Output) {
		out := graph.GoFunction(s, graph.GoFunc{Name: "read_by_place", Out: results, Fn: f.next, Pure: true}, state[0], state[1], records)
		if s.Err() != nil {
			return nil, nil
		}
		return out[:2], out[2:]
	})
	return d.TakeWhile("any_records", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return graph.Greater(s, graph.Size(s, args[0]), s.Const(int64(0)))
	})
}

// recordFeed hands records to TensorFlow, in the order of the plan.
type recordFeed struct {
	plan   *plan.Plan
	scan   *plan.Scan
	left   *quarantine.List      // takes bad records; nil: the first one is an error
	passed *quarantine.Positions // of them
}

// next answers a call for the next records. The arguments are the token, the position
// of the first of them and their number.
func (f *recordFeed) next(ctx context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
	position, err := tfbridge.View[int64](args[1])
	if err != nil {
		return nil, err
	}
	records, err := tfbridge.View[int64](args[2])
	if err != nil {
		return nil, err
	}
	token := args[0]
	r, ok := tfbridge.FindToken(token).(*recordReader)
	if !ok || r.position != position[0] {
		if r, token, err = f.open(position[0]); err != nil {
			return nil, err
		}
	}
	taken, err := f.take(ctx, r, records[0])
	if err != nil {
		token.Close()
		return nil, err
	}
	out, err := vectorOf(r.position, taken)
	if err != nil {
		token.Close()
		return nil, err
	}
	return append([]*tfbridge.Tensor{token}, out...), nil
}

// take returns so many records, fewer at the end, or for 0 as many as fit the read
// buffer.
func (f *recordFeed) take(ctx context.Context, r *recordReader, records int64) ([][]byte, error) {
	if records == 0 {
		return r.take(ctx, math.MaxInt64, min(f.plan.ReadBufferBytes, maxFeedBytes))
	}
	taken, err := r.take(ctx, records, math.MaxInt64)
	if r.err != nil {
		return nil, r.err // a group is whole or fails
	}
	return taken, err
}

// vectorOf makes the results of a call.
func vectorOf(position int64, records [][]byte) ([]*tfbridge.Tensor, error) {
	at, err := tfbridge.NewTensor(position)
	if err != nil {
		return nil, err
	}
	text, err := tfbridge.NewStringTensor([]int64{int64(len(records))}, records)
	if err != nil {
		at.Close()
		return nil, err
	}
	return []*tfbridge.Tensor{at, text}, nil
}

// open returns a reader from a position on, and the token that closes it.
func (f *recordFeed) open(position int64) (*recordReader, *tfbridge.Tensor, error) {
	r := f.reader(f.plan.NewOrder(f.scan))
	r.position, r.end = position, math.MaxInt64
	if f.plan.Epochs > 0 {
		r.end = f.plan.Epochs * r.order.EpochRecords()
	}
	token, err := tfbridge.NewToken(r, r.close)
	return r, token, err
}

// reader returns a reader of examples with an order.
func (f *recordFeed) reader(order *plan.Order) *recordReader {
	return &recordReader{
		recordFeed: f, order: order, files: make(map[int]*tfrecord.ReaderAt),
		placed: f.plan.OwnOperations(), check: f.plan.NewCheck(),
	}
}

// maxPlacedFiles bounds the files that a reader by place holds open.
const maxPlacedFiles = 256

// recordReader reads records by their places. Only one call at a time uses it.
type recordReader struct {
	*recordFeed
	order    *plan.Order
	position int64 // of the next record
	end      int64
	placed   bool               // records carry their places
	check    func([]byte) error // nil: the operations judge the records
	files    map[int]*tfrecord.ReaderAt
	buf      []byte // of the records of a call, one behind the other
	err      error  // what ended reading; sticks
}

// close closes the files.
func (r *recordReader) close() {
	for i := range r.files {
		r.closeFile(i)
	}
}

func (r *recordReader) closeFile(i int) {
	r.files[i].Close() // nothing was written
	delete(r.files, i)
}

// take returns the next records, one at least and then up to a number of records and
// of bytes; none at the end. They are valid until the next call.
func (r *recordReader) take(ctx context.Context, most, bytes int64) ([][]byte, error) {
	records := [][]byte{}
	r.buf = r.buf[:0]
	for n := int64(0); r.err == nil && r.position < r.end && (len(records) == 0 || n < bytes) && int64(len(records)) < most; r.position++ {
		if ctx.Err() != nil {
			return nil, millrace.Canceled(ctx, "")
		}
		var record []byte
		if record, r.err = r.read(r.order.At(r.position)); r.err == errLeftOut {
			r.passed.Add(r.position)
			r.err = nil
			continue
		} else if r.err != nil {
			break
		}
		records = append(records, record)
		n += int64(len(record))
	}
	if len(records) == 0 && r.err != nil {
		return nil, r.err
	}
	return records, nil
}

// read returns a record, with its place behind it where it is to carry one. The error
// is errLeftOut for a bad record that is left out.
func (r *recordReader) read(file int, record int64) ([]byte, error) {
	f, err := r.file(file)
	if err != nil {
		return nil, err
	}
	index := r.scan.Indexes[file]
	size := int(index.Layout.Length(record)) + tfrecord.FrameBytes + placeBytes
	if cap(r.buf)-len(r.buf) < size {
		r.buf = make([]byte, 0, max(size, 2*cap(r.buf))) // records before it keep the old memory
	}
	slot := r.buf[len(r.buf) : len(r.buf)+size : len(r.buf)+size]
	r.buf = r.buf[:len(r.buf)+size]
	place := tfrecord.Record{Ordinal: record, Offset: index.Layout.Offset(record)}
	data, err := f.ReadRecord(record, slot)
	bad := err != nil && tfrecord.Damaged(err)
	if err == nil && r.check != nil {
		err = tfrecord.At(r.check(data), index.Path, place)
		bad = err != nil
	}
	switch {
	case bad && r.left != nil:
		return nil, r.leaveOut(file, place, err)
	case err != nil:
		return nil, err
	case r.placed:
		return appendPlace(data, [3]int64{int64(file), place.Ordinal, place.Offset}), nil
	}
	return data, nil
}

// leaveOut leaves a record out, and returns errLeftOut, or an error that ends reading.
func (r *recordReader) leaveOut(file int, place tfrecord.Record, cause error) error {
	index := r.scan.Indexes[file]
	e := quarantine.NewEntry(index, file)
	e.Ordinal, e.Offset, e.Length = place.Ordinal, place.Offset, index.Layout.Length(place.Ordinal)
	err := r.left.LeaveOut(e, cause)
	if err == nil {
		err = errLeftOut
	}
	return err
}

// file returns an open file. It closes another one if too many are open.
func (r *recordReader) file(i int) (*tfrecord.ReaderAt, error) {
	if f := r.files[i]; f != nil {
		return f, nil
	}
	if len(r.files) >= maxPlacedFiles {
		r.closeAny()
	}
	f, err := tfrecord.OpenAt(r.scan.Indexes[i])
	for len(r.files) > 0 && (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) {
		r.closeAny()
		f, err = tfrecord.OpenAt(r.scan.Indexes[i])
	}
	if err == nil {
		r.files[i] = f
	}
	return f, err
}

// closeAny closes one of the files.
func (r *recordReader) closeAny() {
	for i := range r.files {
		r.closeFile(i)
		return
	}
}
