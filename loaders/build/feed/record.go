package feed

import (
	"context"
	"errors"
	"math"
	"syscall"

	"millrace"
	"millrace/loaders/quarantine"
	"millrace/loaders/stage/order"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// InOrder returns the function that yields the records of all epochs in the order of the
// plan. Its arguments are the token, the position of the first record, and the number of
// records; 0 means as many as fit the read buffer. The position after the last record may follow.
func InOrder(s *Source) Func { return (&recordFeed{s}).next }

// recordFeed yields records in the order of the plan.
type recordFeed struct{ *Source }

// next answers a call for the next records.
func (f *recordFeed) next(ctx context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
	r, token, records, err := f.begin(args)
	if err != nil {
		return nil, err
	}
	taken, err := f.take(ctx, r, records)
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

// begin returns the reader of a call, its token, and how many records the call asks for.
func (f *recordFeed) begin(args []*tfbridge.Tensor) (r *recordReader, token *tfbridge.Tensor, records int64, err error) {
	numbers := []int64{0, 0, math.MaxInt64}
	for i, t := range args[1:] {
		v, err := tfbridge.View[int64](t)
		if err != nil {
			return nil, nil, 0, err
		}
		numbers[i] = v[0]
	}
	token = args[0]
	r, ok := tfbridge.FindToken(token).(*recordReader)
	if !ok || r.position != numbers[0] {
		if r, token, err = f.open(numbers[0]); err != nil {
			return nil, nil, 0, err
		}
	}
	r.end = min(r.end, numbers[2])
	return r, token, numbers[1], nil
}

// take returns n records, fewer at the end, or for 0 as many as fit the read buffer.
func (f *recordFeed) take(ctx context.Context, r *recordReader, records int64) ([][]byte, error) {
	if records == 0 {
		return r.take(ctx, math.MaxInt64, f.callBytes())
	}
	taken, err := r.take(ctx, records, math.MaxInt64)
	if r.err != nil {
		return nil, r.err // a group is complete or fails
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
	r := f.reader(order.New(f.Spec, f.Scan))
	r.position, r.end = position, math.MaxInt64
	if f.Epochs > 0 {
		r.end = f.Epochs * r.order.EpochRecords()
	}
	token, err := tfbridge.NewToken(r, r.close)
	return r, token, err
}

// reader returns a reader of examples with an order.
func (f *recordFeed) reader(order *order.Order) *recordReader {
	return &recordReader{
		recordFeed: f, order: order, files: make(map[int]*tfrecord.ReaderAt),
		placed: f.placed(), check: f.Source.check(),
	}
}

// maxPlacedFiles bounds the files that a reader by position keeps open.
const maxPlacedFiles = 256

// recordReader reads records by their positions. Only one call at a time uses it.
type recordReader struct {
	*recordFeed
	order    *order.Order
	position int64 // position of the next record
	end      int64
	placed   bool               // records carry their locations
	check    func([]byte) error // nil: the operations check the records
	files    map[int]*tfrecord.ReaderAt
	buf      []byte // records of a call, end to end
	err      error  // the error that ended reading; permanent
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
			r.Passed.Add(r.position)
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

// read returns a record, with its location appended where it is to carry one. The error
// is errLeftOut for a bad record that is left out.
func (r *recordReader) read(at tfrecord.Location) ([]byte, error) {
	file, record := at.File, at.Record
	f, err := r.file(file)
	if err != nil {
		return nil, err
	}
	index := r.Scan.Indexes[file]
	size := int(index.Layout.Length(record)) + tfrecord.FrameBytes + LocationBytes
	if cap(r.buf)-len(r.buf) < size {
		r.buf = make([]byte, 0, max(size, 2*cap(r.buf))) // earlier records keep the old memory
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
	case bad && r.Skipped != nil:
		return nil, r.leaveOut(file, place, err)
	case err != nil:
		return nil, err
	case r.placed:
		return located{at, place.Offset}.appendTo(data), nil
	}
	return data, nil
}

// leaveOut leaves a record out. It returns errLeftOut, or an error that ends reading.
func (r *recordReader) leaveOut(file int, place tfrecord.Record, cause error) error {
	index := r.Scan.Indexes[file]
	e := quarantine.NewEntry(index, file)
	e.Ordinal, e.Offset, e.Length = place.Ordinal, place.Offset, index.Layout.Length(place.Ordinal)
	err := r.Skipped.LeaveOut(e, cause)
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
	f, err := tfrecord.OpenAt(r.Scan.Indexes[i])
	for len(r.files) > 0 && (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) {
		r.closeAny()
		f, err = tfrecord.OpenAt(r.Scan.Indexes[i])
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
