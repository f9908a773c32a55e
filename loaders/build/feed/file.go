package feed

import (
	"context"
	"io"

	"millrace"
	"millrace/loaders/quarantine"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// Files returns the function that yields the records of a file. Its arguments are the
// number of the file in the list, the token, and the number of records read before.
func Files(s *Source) Func { return fileFeed{s}.next }

// fileFeed yields the records of files.
type fileFeed struct{ *Source }

// next answers a call for the next records of a file.
func (f fileFeed) next(ctx context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
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
	records, err := r.take(f.callBytes())
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

// open opens a file after its first skip records, and makes the token that closes it.
func (f fileFeed) open(ctx context.Context, file int, skip int64) (*fedFile, *tfbridge.Tensor, error) {
	path := f.Files[file].Path
	d, err := tfrecord.OpenFile(path, &tfrecord.ReaderOptions{Compression: f.Compression})
	if err != nil {
		return nil, nil, err
	}
	r := &fedFile{Reader: f.newReader(d, file), placed: f.placed(), read: skip}
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
	placed bool  // records carry their locations
	read   int64 // number of records, including those that were left out but not one that ended reading
	err    error // the error that ended reading, io.EOF at the end; permanent
}

// close closes the file. TensorFlow holds the token during a call, so no call
// uses the file any more.
func (r *fedFile) close() { r.Close() }

// skipTo skips the records before the one with an ordinal.
func (r *fedFile) skipTo(ctx context.Context, ordinal int64) error {
	if layout := r.Index.Layout; layout != nil && r.Index.Compression == tfrecord.None && ordinal > 0 && ordinal < r.Index.Records {
		return r.SeekRecord(ordinal, layout.Offset(ordinal))
	}
	return passTo(ctx, r.Reader, ordinal)
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
			data = r.location().appendTo(data[:len(data):len(data)])
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

// atEnd returns an error if the file ended before all counted records were read, in
// plans where no other check compares the numbers.
func (r *fedFile) atEnd() error {
	if r.LeaveOut == nil || r.Count() >= r.Index.Records {
		return nil
	}
	e := millrace.Errorf(millrace.ErrTruncated, "the file has %d records, %d were counted", r.Count(), r.Index.Records)
	e.File = r.Index.Path
	return e
}

// location returns the location of the record that was read last.
func (r *fedFile) location() located {
	last := r.Record()
	return located{tfrecord.Location{File: r.FileNumber, Record: last.Ordinal}, last.Offset}
}
