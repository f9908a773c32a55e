package output

import "millrace/dtype"

// WriteFile writes data to a file in the way of [Create]: under a temporary
// name, synced, and renamed when it is complete.
func WriteFile(path string, data []byte, overwrite bool) error {
	f := &File{path: path, overwrite: overwrite, enc: raw{}}
	if err := f.open(&Options{Overwrite: overwrite}); err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.sink.Write(data); err != nil {
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
