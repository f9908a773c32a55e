package output

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/atomicfile"
	"millrace/remote"
)

// Stdout is the path that means standard output.
const Stdout = "-"

// Options are the options for writing a file. The zero value suits most callers.
type Options struct {
	Overwrite bool         // replace an existing file, by a rename when the new one is complete
	Inputs    []string     // files and folders that the job reads; the output must not be one of them or lie in one
	Stdout    io.Writer    // the writer for the path "-"; nil: os.Stdout
	Note      func(string) // called with remarks for the user, such as values that the format rounds; may be nil
}

// File is an output being written. It is not safe for concurrent use.
type File struct {
	path      string
	overwrite bool
	file      *os.File       // nil for standard output and URLs
	object    *remote.Writer // nil but for URLs
	sink      *sink
	enc       encoder
	hints     []dtype.TensorSpec
	cols      []dtype.TensorSpec // the columns of the first batch; nil before the first batch
	done      bool
}

// Create starts an output. It checks that the folder exists and is writable,
// refuses to overwrite inputs and, without Options.Overwrite, existing files,
// and locks the output against other jobs. The path's extension chooses the
// format; "-" writes NDJSON to standard output. The URL of a store is written whole or not at all,
// too, without a lock. The caller closes the File in any case.
func Create(path string, o *Options) (*File, error) {
	if o == nil {
		o = &Options{}
	}
	format, err := FormatOf(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, overwrite: o.Overwrite}
	if path == Stdout {
		w := o.Stdout
		if w == nil {
			w = os.Stdout
		}
		f.sink = &sink{w: w, name: "standard output"}
	} else {
		if err := f.open(o); err != nil {
			return nil, err
		}
	}
	f.sink.note = o.Note
	f.enc = format.new(f.sink)
	return f, nil
}

// open locks the temporary file.
func (f *File) open(o *Options) error {
	if err := refuse(f.path, o); err != nil {
		return err
	}
	if remote.IsURL(f.path) {
		object, err := remote.Create(context.Background(), f.path)
		if err != nil {
			return err
		}
		f.object = object
		f.sink = &sink{w: object, name: f.path}
		return nil
	}
	file, err := lock(f.path)
	if err != nil {
		return err
	}
	f.file = file
	f.sink = &sink{w: file, dir: filepath.Dir(f.path), name: f.path}
	return nil
}

// Expect declares the columns as far as known, so that a file without rows has them
// too.
func (f *File) Expect(cols []dtype.TensorSpec) { f.hints = cols }

// Rows returns the number of rows written so far.
func (f *File) Rows() int64 { return f.sink.rows }

// Bytes returns the number of bytes written so far.
func (f *File) Bytes() int64 { return f.sink.off }

// Write adds the rows of one batch. All batches have the same columns. The
// batch's memory is not used after Write returns.
func (f *File) Write(batch []Column) error {
	rows, err := batchRows(batch)
	if err != nil {
		return err
	}
	if len(batch) == 0 {
		return noColumns()
	}
	if f.cols == nil {
		if err := f.start(batch); err != nil {
			return err
		}
	}
	if err := f.sameColumns(batch); err != nil {
		return err
	}
	if err := f.enc.write(batch, int(rows)); err != nil {
		return err
	}
	f.sink.rows += rows
	return nil
}

// start passes the columns of the first batch to the encoder.
func (f *File) start(batch []Column) error {
	f.cols = make([]dtype.TensorSpec, len(batch))
	for i, c := range batch {
		f.cols[i] = dtype.TensorSpec{Name: c.Name, DType: c.DType, Shape: dtype.MakeShape(c.Shape[1:]...)}
	}
	return f.enc.start(f.cols)
}

// sameColumns returns an error if the columns of a batch differ from those of
// the first batch.
func (f *File) sameColumns(batch []Column) error {
	if len(batch) != len(f.cols) {
		return millrace.Errorf(millrace.ErrInternal, "this batch has %d tensors, the batches before it have %d", len(batch), len(f.cols))
	}
	for i := range batch {
		c, want := &batch[i], f.cols[i]
		if c.Name != want.Name || c.DType != want.DType {
			return c.fail(millrace.ErrInternal, "is %v, after batches with %v for %q", c.DType, want.DType, want.Name)
		}
		if rank := want.Shape.NumDimensions(); len(c.Shape)-1 != rank {
			return c.fail(millrace.ErrModel, "has rank %d in this batch, but rank %d in the batches before it", len(c.Shape), rank+1)
		}
	}
	return nil
}

// Commit finishes the file and gives it its name. After an error, a file that
// had the name before is unchanged.
func (f *File) Commit() error {
	if f.done {
		return millrace.Errorf(millrace.ErrClosed, "the output is closed")
	}
	if err := f.finish(); err != nil {
		return err
	}
	if f.object != nil {
		if err := f.object.Commit(); err != nil {
			return err
		}
	}
	if f.file == nil {
		f.done = true
		return nil
	}
	if err := f.file.Sync(); err != nil {
		return f.sink.fail("sync", f.sink.off, err)
	}
	if err := f.rename(); err != nil {
		return err
	}
	f.done = true
	defer f.file.Close() // the data is synced, so closing cannot lose any
	return syncFolder(f.path)
}

// finish writes the end of the format, such as an index.
func (f *File) finish() error {
	if f.cols == nil { // there was no batch: the file has no rows, but it has the expected columns
		cols := slices.DeleteFunc(slices.Clone(f.hints), func(s dtype.TensorSpec) bool {
			return s.Shape.NumDimensions() < 0 || !writable(s.DType)
		})
		if err := f.enc.start(cols); err != nil {
			return err
		}
	}
	return f.enc.finish()
}

// rename gives the file its final name. Without Overwrite it does not replace a
// file that was created in the meantime.
func (f *File) rename() error {
	from := temporary(f.path)
	rename := atomicfile.RenameNew
	if f.overwrite {
		rename = atomicfile.Rename
	}
	err := rename(from, f.path)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist) && !f.overwrite:
		return exists(f.path)
	}
	return f.sink.fail("rename", -1, atomicfile.Cause(err))
}

// Close removes the temporary file unless the output was committed. Calls
// after the first do nothing.
func (f *File) Close() error {
	if f.done {
		return nil
	}
	f.done = true
	f.enc.discard()
	if f.object != nil {
		return f.object.Close()
	}
	if f.file == nil {
		return nil
	}
	defer f.file.Close() // closed last, because closing releases the lock
	if err := os.Remove(f.file.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return f.sink.fail("remove", -1, err)
	}
	return nil
}

// syncFolder makes a rename in path's folder durable.
func syncFolder(path string) error {
	if remote.IsURL(path) {
		return nil
	}
	if err := atomicfile.SyncFolder(filepath.Dir(path)); err != nil {
		return ioError(path, "sync folder", -1, 0, atomicfile.Cause(err))
	}
	return nil
}
