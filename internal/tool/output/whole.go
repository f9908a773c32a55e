package output

import (
	"bufio"
	"io"

	"millrace/dtype"
)

// WriteFile writes data to a file in the way of [Create]: under a temporary
// name, synced, and renamed when it is complete.
func WriteFile(path string, data []byte, overwrite bool) error {
	return WriteWhole(path, &Options{Overwrite: overwrite}, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteWhole writes the output of a function to a file, in the way of [WriteFile].
// After an error of the function the previous file, if any, is unchanged. It uses the
// options Overwrite and Inputs.
func WriteWhole(path string, o *Options, write func(io.Writer) error) error {
	f := &File{path: path, overwrite: o.Overwrite, enc: raw{}}
	if err := f.open(o); err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f.sink, 64<<10)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Commit()
}

// raw is the encoder of a file that has no batches.
type raw struct{}

func (raw) start([]dtype.TensorSpec) error { return nil }
func (raw) write([]Column, int) error      { return nil }
func (raw) finish() error                  { return nil }
func (raw) discard()                       {}
