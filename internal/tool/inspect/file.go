package inspect

import (
	"bytes"
	"context"
	"errors"
	"io"

	"millrace"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
	"millrace/tfrecord/index"
)

// maxProblems is how many bad records of one file the report describes. It only
// counts the others.
const maxProblems = 3

// findings are the results of one file.
type findings struct {
	file     File
	stats    *stats
	problems []error
	bad      int64 // records that are not a tf.Example
}

// inspectFile reads a file. The findings include the file's problems. An error
// ends the whole inspection.
func inspectFile(ctx context.Context, path string, o *Options) (*findings, error) {
	f := &findings{file: File{Path: path}, stats: newStats()}
	if size, err := sizeOf(path); err == nil {
		f.file.Bytes = size
	}
	opts := &tfrecord.ReaderOptions{MaxRecordBytes: o.MaxRecordBytes}
	opts.Compression = compression(path, opts)
	f.file.Compression = opts.Compression
	if err := f.read(ctx, path, opts, o.Sample); err != nil {
		return nil, err
	}
	if f.file.AtLeast && opts.Compression == tfrecord.None {
		if err := f.count(ctx, path, opts); err != nil {
			return nil, err
		}
	}
	if more := f.bad - maxProblems; more > 0 {
		e := millrace.Errorf(millrace.ErrCorrupt, "%d more records cannot be read", more)
		e.File = path
		f.problems = append(f.problems, e)
	}
	f.file.Damaged = len(f.problems) > 0
	return f, nil
}

// compression returns the compression of a file. It tries to read the first record with
// each one, then checks the file's first bytes.
func compression(path string, o *tfrecord.ReaderOptions) tfrecord.Compression {
	if readable(path, o, tfrecord.None) {
		return tfrecord.None
	}
	if startsGzip(path) {
		return tfrecord.GZIP // a damaged gzip file
	}
	if readable(path, o, tfrecord.ZLIB) {
		return tfrecord.ZLIB
	}
	return tfrecord.None // the reader's error describes the file
}

// startsGzip reports whether a file starts with the magic number of gzip.
func startsGzip(path string) bool {
	f, err := open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 3)
	_, err = io.ReadFull(f, head)
	return err == nil && bytes.Equal(head, []byte{0x1f, 0x8b, 8})
}

// readable reports whether a file's first record can be read.
func readable(path string, o *tfrecord.ReaderOptions, c tfrecord.Compression) bool {
	opts := *o
	opts.Compression = c
	r, err := tfrecord.OpenFile(path, &opts)
	if err != nil {
		return false
	}
	defer r.Close()
	_, err = r.Next()
	return err == nil || err == io.EOF
}

// canceledEvery is the number of records read between two checks of the context.
const canceledEvery = 256

// read reads all records, or the first sample records.
func (f *findings) read(ctx context.Context, path string, o *tfrecord.ReaderOptions, sample int64) error {
	for rec, err := range tfrecord.Records(path, o) {
		if err != nil {
			f.problems = append(f.problems, err)
			f.file.AtLeast = false // the number of records after the damage is unknown
			return nil
		}
		if rec.Ordinal%canceledEvery == 0 && ctx.Err() != nil {
			return millrace.Canceled(ctx, "inspection")
		}
		if sample > 0 && rec.Ordinal == sample {
			f.file.AtLeast = true
			return nil
		}
		n := int64(len(rec.Data))
		f.file.Records++
		f.file.DataBytes += n
		f.file.MaxRecord = max(f.file.MaxRecord, n)
		if err := f.parse(rec); err != nil {
			if errors.Is(err, millrace.ErrLimit) {
				return tfrecord.At(err, path, rec)
			}
			if f.bad++; f.bad <= maxProblems {
				f.problems = append(f.problems, tfrecord.At(err, path, rec))
			}
		}
	}
	return nil
}

// parse adds a record's features to the statistics.
func (f *findings) parse(rec tfrecord.Record) error {
	if len(rec.Data) == 0 {
		return millrace.Errorf(millrace.ErrSchema, "the record is empty")
	}
	seq, err := example.ParseSequence(rec.Data)
	if err != nil {
		return err
	}
	context, err := seq.Context.Decode()
	if err != nil {
		return err
	}
	lists, err := seq.DecodeLists()
	if err != nil {
		return err
	}
	return f.stats.add(context, lists)
}

// count counts the records of an uncompressed file that was only read in part. A
// matching index file has the number. Without one, count reads the headers of the
// records and skips their data, which is fast.
func (f *findings) count(ctx context.Context, path string, o *tfrecord.ReaderOptions) error {
	scanned, err := index.Scan(ctx, []string{path}, &index.Options{ReaderOptions: *o, CacheDir: index.CacheDir()})
	if errors.Is(err, millrace.ErrCanceled) {
		return err
	}
	if err != nil {
		f.problems = append(f.problems, err)
		return nil
	}
	found := scanned[0]
	f.file.Records, f.file.DataBytes, f.file.MaxRecord = found.Records, found.DataBytes, found.MaxRecord
	f.file.AtLeast = false
	return nil
}
