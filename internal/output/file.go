package output

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"millrace"
	"millrace/dtype"
)

// Stdout is the path that stands for standard output.
const Stdout = "-"

// Options says how a file is written. The zero value is what most want.
type Options struct {
	Overwrite bool         // replace a file that is there; by rename, when the new one is whole
	Inputs    []string     // files and folders that are read: the output must not be in them
	Stdout    io.Writer    // what the path "-" stands for; nil: os.Stdout
	Note      func(string) // gets what the user should know of what the format cannot hold; may be nil
}

// File is an output being written. It is not safe for concurrent use.
type File struct {
	path      string
	overwrite bool
	file      *os.File // nil for standard output
	sink      *sink
	enc       encoder
	hints     []dtype.TensorSpec
	cols      []dtype.TensorSpec // of the first batch; nil before it
	done      bool
}

// Create begins an output: it finds out whether the folder is there and can
// be written, refuses what must not be overwritten, and locks the output
// against other jobs. The path's extension chooses the format; "-" writes
// NDJSON to standard output. Close the file whatever happens.
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
	file, err := lock(f.path)
	if err != nil {
		return err
	}
	f.file = file
	f.sink = &sink{w: file, dir: filepath.Dir(f.path), name: f.path}
	return nil
}

// Expect says which columns there will be, as far as it is known, so that a
// file without rows has them too.
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

// start tells the encoder the columns of the first batch.
func (f *File) start(batch []Column) error {
	f.cols = make([]dtype.TensorSpec, len(batch))
	for i, c := range batch {
		f.cols[i] = dtype.TensorSpec{Name: c.Name, DType: c.DType, Shape: dtype.MakeShape(c.Shape[1:]...)}
	}
	return f.enc.start(f.cols)
}

// sameColumns reports a batch whose columns are not those of the first.
func (f *File) sameColumns(batch []Column) error {
	if len(batch) != len(f.cols) {
		return millrace.Errorf(millrace.ErrInternal, "a batch of %d tensors after batches of %d", len(batch), len(f.cols))
	}
	for i := range batch {
		c, want := &batch[i], f.cols[i]
		if c.Name != want.Name || c.DType != want.DType {
			return c.fail(millrace.ErrInternal, "%v after batches with %v of %q", c.DType, want.DType, want.Name)
		}
		if rank := want.Shape.NumDimensions(); len(c.Shape)-1 != rank {
			return c.fail(millrace.ErrModel, "rank %d in this batch, %d in those before", len(c.Shape), rank+1)
		}
	}
	return nil
}

// Commit finishes the file and gives it its name. After an error nothing is
// left under that name but what was there before.
func (f *File) Commit() error {
	if f.done {
		return millrace.Errorf(millrace.ErrClosed, "the output is closed")
	}
	if err := f.finish(); err != nil {
		return err
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
	defer f.file.Close() // everything is synced: nothing can fail any more
	return syncFolder(f.path)
}

// finish writes what ends the format.
func (f *File) finish() error {
	if f.cols == nil { // no batch came: the file has no rows, but columns if they are known
		cols := slices.DeleteFunc(slices.Clone(f.hints), func(s dtype.TensorSpec) bool {
			return s.Shape.NumDimensions() < 0 || !writable(s.DType)
		})
		if err := f.enc.start(cols); err != nil {
			return err
		}
	}
	return f.enc.finish()
}

// rename gives the file its final name, and does not replace a file that has
// appeared there in the meantime unless that is allowed.
func (f *File) rename() error {
	from := temporary(f.path)
	if f.overwrite {
		if err := os.Rename(from, f.path); err != nil {
			return f.sink.fail("rename", -1, err)
		}
		return nil
	}
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, f.path, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // a file system without it
		if _, stat := os.Lstat(f.path); stat == nil {
			return exists(f.path)
		}
		err = os.Rename(from, f.path)
	}
	if errors.Is(err, unix.EEXIST) {
		return exists(f.path)
	}
	if err != nil {
		return f.sink.fail("rename", -1, err)
	}
	return nil
}

// Close removes the temporary file unless the output was committed. Calls
// after the first do nothing.
func (f *File) Close() error {
	if f.done {
		return nil
	}
	f.done = true
	f.enc.discard()
	if f.file == nil {
		return nil
	}
	defer f.file.Close() // last, as it gives the lock away
	if err := os.Remove(f.file.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return f.sink.fail("remove", -1, err)
	}
	return nil
}

// syncFolder makes a rename in path's folder durable.
func syncFolder(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return ioError(path, "open folder", -1, 0, err)
	}
	defer dir.Close()
	// Some file systems cannot sync a folder, and say EINVAL.
	if err := dir.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return ioError(path, "sync folder", -1, 0, err)
	}
	return nil
}
