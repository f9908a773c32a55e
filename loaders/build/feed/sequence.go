package feed

import (
	"context"
	"errors"
	"io"
	"sync"

	"millrace"
	"millrace/loaders/quarantine"
	"millrace/loaders/stage/order"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// Sequences returns the function that yields the records of an epoch, in its order. Its
// arguments are the epoch, the token and the number of records delivered. The locations of
// the records follow as a matrix, unless the records carry them.
func Sequences(s *Source) Func { return (&sequenceFeed{Source: s}).next }

// sequenceFeed yields the records of an epoch.
type sequenceFeed struct {
	*Source

	mu     sync.Mutex
	order  []int64 // order of all sequences, drawn last; nil: as in the data
	period int64   // period of the order, plus 1; 0: none
}

// next answers a call for the next records.
func (f *sequenceFeed) next(ctx context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
	var numbers [3]int64
	for i, t := range args {
		v, err := tfbridge.View[int64](t)
		if err != nil {
			return nil, err
		}
		numbers[i] = v[0]
	}
	epoch, delivered, token := numbers[0], numbers[2], args[1]
	r, ok := tfbridge.FindToken(token).(*sequenceReader)
	if !ok || r.epoch != epoch || r.delivered != delivered {
		var err error
		if r, token, err = f.open(epoch, delivered); err != nil {
			return nil, err
		}
	}
	out, err := r.take(ctx, f.callBytes())
	if err != nil {
		token.Close()
		return nil, err
	}
	return append([]*tfbridge.Tensor{token}, out...), nil
}

// open returns a reader of an epoch after a number of its records, and the token that
// closes it.
func (f *sequenceFeed) open(epoch, delivered int64) (*sequenceReader, *tfbridge.Tensor, error) {
	r := &sequenceReader{feed: f, epoch: epoch, delivered: delivered, placed: f.Engine.Own, files: map[int]*quarantine.Reader{}}
	r.begin, r.end = order.EpochPart(f.Spec, f.Scan, epoch)
	r.first, r.order = order.FirstSequence(f.Spec), f.orderOf(epoch)
	token, err := tfbridge.NewToken(r, r.close)
	return r, token, err
}

// orderOf returns the order of all sequences in an epoch, nil for the order of
// the data. The epochs that share an order follow each other.
func (f *sequenceFeed) orderOf(epoch int64) []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if period := order.Period(f.Spec, epoch); f.period != period+1 {
		f.order = order.OfSequences(f.Spec, f.Scan, period)
		f.period = period + 1
	}
	return f.order
}

// maxOpenFiles bounds the files that one reader holds open. Each has a buffer.
const maxOpenFiles = 16

// sequenceReader reads the records of one epoch. Only one call at a time uses
// it.
type sequenceReader struct {
	feed       *sequenceFeed
	epoch      int64
	order      []int64                    // positions in the data, nil: ascending
	first      int64                      // position in the data at which an ascending order begins
	begin, end int64                      // bounds of the epoch's part of the order
	delivered  int64                      // number of records, including those that were left out
	placed     bool                       // records carry their locations
	files      map[int]*quarantine.Reader // open, by their index in the list
	err        error                      // the error that ended reading; permanent
}

// close closes the files.
func (r *sequenceReader) close() {
	for _, f := range r.files {
		f.Close()
	}
}

// take returns the number of records delivered and the next good records, one at least
// and then as many as fit a number of bytes; none at the end. Their locations follow as
// a matrix, or each record carries its location.
func (r *sequenceReader) take(ctx context.Context, bytes int64) ([]*tfbridge.Tensor, error) {
	records, locations := []string{}, []int64{}
	for n := int64(0); r.err == nil && r.begin+r.delivered < r.end && (len(records) == 0 || n < bytes); r.delivered++ {
		if ctx.Err() != nil {
			return nil, millrace.Canceled(ctx, "")
		}
		at := r.begin + r.delivered
		if r.order != nil {
			at = r.order[at]
		} else {
			at += r.first
		}
		var data []byte
		var location located
		if data, location, r.err = r.read(at); r.err == errLeftOut {
			r.err = nil
			continue
		} else if r.err != nil {
			break
		}
		numbers := location.numbers()
		if locations = append(locations, numbers[:]...); r.placed {
			data = location.appendTo(data[:len(data):len(data)])
		}
		records = append(records, string(data))
		n += int64(len(data))
	}
	if len(records) == 0 && r.err != nil {
		return nil, r.err
	}
	return newTensors(r.delivered, records, locations, r.placed)
}

// newTensors makes the results of a call.
func newTensors(delivered int64, records []string, places []int64, placed bool) ([]*tfbridge.Tensor, error) {
	count, err := tfbridge.NewTensor(delivered)
	if err != nil {
		return nil, err
	}
	text, err := tfbridge.NewTensor(records)
	if err != nil || placed {
		if err != nil {
			count.Close()
		}
		return []*tfbridge.Tensor{count, text}, err
	}
	matrix, err := tfbridge.NewTensorFromSlice([]int64{int64(len(records)), LocationBytes / 8}, places)
	if err != nil {
		count.Close()
		text.Close()
	}
	return []*tfbridge.Tensor{count, text, matrix}, err
}

// errLeftOut says that the requested record is left out.
var errLeftOut = errors.New("the record is left out")

// read returns the record at a position in the data, which is valid until the next
// call, and its location. The error is errLeftOut for a
// bad record that is left out.
func (r *sequenceReader) read(at int64) (data []byte, location located, err error) {
	file, ordinal := 0, at
	for ordinal >= r.feed.Scan.Count(file) {
		ordinal -= r.feed.Scan.Count(file)
		file++
	}
	f, err := r.file(file)
	if err != nil {
		return nil, location, err
	}
	index := r.feed.Scan.Indexes[file]
	if index.Layout != nil && index.Compression == tfrecord.None {
		err = f.SeekRecord(ordinal, index.Layout.Offset(ordinal))
	}
	good := false
	for err == nil && f.Count() <= ordinal {
		data, good, err = f.Read()
	}
	switch {
	case good:
		return data, located{tfrecord.Location{File: file, Record: ordinal}, f.Record().Offset}, nil
	case err == nil:
		return nil, location, errLeftOut
	case err != io.EOF:
		return nil, location, err
	}
	e := millrace.Errorf(millrace.ErrTruncated, "the file has %d records, %d were counted", f.Count(), index.Records)
	e.File = index.Path
	return nil, location, e
}

// file returns an open file. If records come in the order of the data, earlier files
// are closed.
func (r *sequenceReader) file(i int) (*quarantine.Reader, error) {
	if f := r.files[i]; f != nil {
		return f, nil
	}
	for j, f := range r.files {
		if r.order == nil || len(r.files) >= maxOpenFiles {
			f.Close()
			delete(r.files, j)
			if r.order != nil {
				break
			}
		}
	}
	d, err := tfrecord.OpenFile(r.feed.Scan.Indexes[i].Path, &tfrecord.ReaderOptions{Compression: r.feed.Compression})
	if err != nil {
		return nil, err
	}
	r.files[i] = r.feed.newReader(d, i)
	return r.files[i], nil
}
