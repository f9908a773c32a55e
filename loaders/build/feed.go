package build

import (
	"context"
	"io"
	"math"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/loaders/plan"
	"millrace/loaders/quarantine"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// # How Go feeds records to TensorFlow
//
// The question. Some records end the process in TensorFlow's parsers, and some
// record headers in its reader. Millrace's own operations survive them. Without
// their library TensorFlow must parse, so somebody has to judge the bytes first.
// A look at the files before the first batch is not enough: a file may be
// overwritten between that look and TensorFlow's read. A private copy of the
// files would do, but takes as much disk as the data.
//
// The answer. TensorFlow opens no data file. Go reads each record once, checks
// its length and checksums, judges it with [plan.Judge], and hands over the bytes
// that it judged:
//
//	file ── tfrecord.Reader ── plan.Judge ── copy in a tensor ── ParseExampleV2
//
//	Range ── Scan(call of Go) ── TakeWhile(not empty) ── Unbatch ── records
//
//  1. Each call of Go returns a vector of records, as many as fit the config's
//     read buffer, and an empty vector at the end of the file.
//  2. The state of the scan is a token, by which a call finds the open file, and
//     the number of records read. When the iterator goes, the token goes,
//     and the file is closed.
//  3. A restored state has no token, only the number. The file is opened again
//     and so many records are skipped.
//
// A record that is refused fails the call after the records before it were
// delivered. The error has the record's place.

// maxFeedBytes bounds the records of one call: more gain nothing, and each open
// file holds them.
const maxFeedBytes = 1 << 20

// Where Millrace's own operations decode the records and Go has to check them first
// ([plan.Plan.JudgesRecords]), they come the same way, and carry their places.

// feed hands the records of a plan's files to TensorFlow.
type feed struct {
	plan *plan.Plan
	scan *plan.Scan
	left *quarantine.List // takes bad records; nil: the first one is an error
}

// fedRecords returns the records of the file with a number in the plan's list,
// an int64 scalar.
func (b *builder) fedRecords(s *graph.Scope, ordinal tfbridge.Output) *dataset.Dataset {
	return b.fedVectors(s, ordinal).Unbatch()
}

// fedVectors returns the records of a file as vectors, as many in each as fit the read
// buffer.
func (b *builder) fedVectors(s *graph.Scope, ordinal tfbridge.Output) *dataset.Dataset {
	scalar := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	results := []graph.Spec{scalar, scalar, {DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)}}
	initial := []tfbridge.Output{s.Const(int64(0)), s.Const(int64(0))}
	f := feed{b.plan, b.scan, b.left}
	d := dataset.Range(s, 0, math.MaxInt64, 1)
	d = d.Scan("read_records", initial, func(s *graph.Scope, state, _ []tfbridge.Output) (next, components []tfbridge.Output) {
		out := graph.GoFunction(s, graph.GoFunc{Name: "read_records", Out: results, Fn: f.next, Pure: true}, ordinal, state[0], state[1])
		return out[:2], out[2:]
	})
	return d.TakeWhile("any_records", func(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
		return graph.Greater(s, graph.Size(s, args[0]), s.Const(int64(0)))
	})
}

// next answers a call for the next records of a file. The arguments are the
// number of the file, the token and the number of records read before.
func (f feed) next(ctx context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
	var numbers [3]int64
	for i, t := range args {
		v, err := tfbridge.View[int64](t)
		if err != nil {
			return nil, err
		}
		numbers[i] = v[0]
	}
	file, read := int(numbers[0]), numbers[2]
	token := args[1]
	r, ok := tfbridge.FindToken(token).(*fedFile)
	if !ok || r.FileNumber != file || r.read != read {
		var err error
		if r, token, err = f.open(ctx, file, read); err != nil {
			return nil, err
		}
	}
	records, err := r.take(min(f.plan.ReadBufferBytes, maxFeedBytes))
	if err != nil {
		token.Close()
		return nil, err
	}
	count, err := tfbridge.NewTensor(r.read)
	if err != nil {
		token.Close()
		return nil, err
	}
	text, err := tfbridge.NewTensor(records)
	if err != nil {
		token.Close()
		count.Close()
		return nil, err
	}
	return []*tfbridge.Tensor{token, count, text}, nil
}

// open opens a file behind its first skip records, and makes the token that
// closes it.
func (f feed) open(ctx context.Context, file int, skip int64) (*fedFile, *tfbridge.Tensor, error) {
	path := f.plan.Files[file].Path
	d, err := tfrecord.OpenFile(path, &tfrecord.ReaderOptions{Compression: f.plan.Manifest.Compression})
	if err != nil {
		return nil, nil, err
	}
	r := &fedFile{Reader: newReader(f.plan, d, f.scan.Indexes[file], file, f.left), placed: f.plan.OwnOperations(), read: skip}
	if err := r.skipTo(ctx, skip); err != nil {
		r.close()
		return nil, nil, err
	}
	token, err := tfbridge.NewToken(r, r.close)
	if err != nil {
		r.close()
		return nil, nil, err
	}
	return r, token, nil
}

// fedFile is a file that an iterator reads. Only one call at a time uses it: an
// iterator asks for one element after the other.
type fedFile struct {
	*quarantine.Reader
	placed bool  // records carry their places
	read   int64 // records, with those that were left out and without one that ended reading
	err    error // what ended reading, io.EOF at the end; sticks
}

// close closes the file. TensorFlow holds the token during a call, so no call
// uses the file any more.
func (r *fedFile) close() { r.Close() }

// skipTo passes over the records before the one with an ordinal.
func (r *fedFile) skipTo(ctx context.Context, ordinal int64) error {
	if layout := r.Index.Layout; layout != nil && r.Index.Compression == tfrecord.None && ordinal > 0 && ordinal < r.Index.Records {
		return r.SeekRecord(ordinal, layout.Offset(ordinal))
	}
	check := r.Check
	r.Check = nil // these were checked before the state was saved
	defer func() { r.Check = check }()
	for r.Count() < ordinal {
		if ctx.Err() != nil {
			return millrace.Canceled(ctx, "")
		}
		_, err := r.Next()
		if err == io.EOF && r.Count() < ordinal {
			return millrace.Errorf(millrace.ErrTruncated, "%s has %d records, the saved state is behind record %d", millrace.Quote(r.Index.Path), r.Count(), ordinal)
		}
		if err != nil && err != io.EOF {
			return err
		}
	}
	return nil
}

// take returns the next good records, one at least and then as many as fit a number
// of bytes; none at the end of the file.
func (r *fedFile) take(bytes int64) ([]string, error) {
	records := []string{}
	for n := int64(0); r.err == nil && (len(records) == 0 || n < bytes); {
		var data []byte
		if data, r.err = r.Next(); r.err != nil {
			break
		}
		r.read = r.Count()
		if r.placed {
			data = appendPlace(data[:len(data):len(data)], r.place())
		}
		records = append(records, string(data))
		n += int64(len(data))
	}
	if len(records) == 0 && r.err == io.EOF {
		return records, r.atEnd()
	}
	if len(records) == 0 {
		return nil, r.err
	}
	return records, nil
}

// atEnd returns an error if the file ended before all records were read that were
// counted, where nobody else compares the numbers.
func (r *fedFile) atEnd() error {
	if r.LeaveOut == nil || r.Count() >= r.Index.Records {
		return nil
	}
	e := millrace.Errorf(millrace.ErrTruncated, "the file has %d records, %d were counted", r.Count(), r.Index.Records)
	e.File = r.Index.Path
	return e
}

// place returns the place of the record that was read last.
func (r *fedFile) place() [3]int64 {
	last := r.Record()
	return [3]int64{int64(r.FileNumber), last.Ordinal, last.Offset}
}

// newReader returns what reads the good records of a file.
func newReader(p *plan.Plan, d *tfrecord.Reader, index *tfrecord.Index, file int, left *quarantine.List) *quarantine.Reader {
	r := &quarantine.Reader{Reader: d, Index: index, FileNumber: file, Check: p.NewCheck()}
	if left != nil {
		r.LeaveOut = left.LeaveOut
	}
	return r
}

// judge decides about the records that the native operation cannot decode for sure. It
// reads each of them again, as [feed] reads all records, so that the same records are
// left out for the same reasons.
func (b *builder) judge(ctx context.Context, file, record, offset int64) (v native.Verdict, err error) {
	if ctx.Err() != nil {
		return v, millrace.Canceled(ctx, "")
	}
	index := b.scan.Indexes[file]
	d, err := tfrecord.OpenFile(b.plan.Files[file].Path, nil)
	if err != nil {
		return v, err
	}
	defer d.Close()
	r := newReader(b.plan, d, index, int(file), b.left)
	if err := r.SeekRecord(record, offset); err != nil {
		return v, err
	}
	_, v.Good, err = r.Read()
	if err == io.EOF {
		err = millrace.Errorf(millrace.ErrTruncated, "the file ended here while it was read")
		err.(*millrace.Error).File = index.Path
	}
	v.RestOfFile = r.Ended()
	v.Record, v.Offset = r.Position()
	return v, err
}
