package weights

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"millrace"
	"millrace/internal/base/regularfile"
	"millrace/remote"
)

// Open reads the list of tensors in a file or folder. The folder's content or the
// file's suffix determines the form. Errors are of class ErrCheckpoint, or ErrIO. The
// caller closes the source.
func Open(path string) (*Source, error) {
	switch {
	case strings.HasSuffix(path, ".keras"):
		return openFile(path, archive)
	case strings.HasSuffix(path, ".h5"), strings.HasSuffix(path, ".hdf5"):
		return openFile(path, func(f *file) error { return f.hdf5(f.r, f.size) })
	case strings.HasSuffix(path, ".safetensors"):
		return openFile(path, safetensors)
	}
	if remote.IsURL(path) {
		return checkpointSource(ofRunInStore(path))
	}
	if _, err := os.Stat(filepath.Join(path, "saved_model.pb")); err == nil {
		path = filepath.Join(path, "variables", "variables")
	} else if _, err := os.Stat(path + ".index"); errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Stat(path); err != nil || !info.IsDir() { // a folder may have checkpoints
			return nil, noWeights(path, err)
		}
	}
	return checkpointSource(ofRun(path))
}

// ofRun returns the folder of a run's checkpoints for the folder of the run, and other paths as
// they are.
func ofRun(path string) string {
	within := filepath.Join(path, "checkpoints")
	if _, err := os.Stat(filepath.Join(path, "checkpoint")); err == nil {
		return path
	}
	if _, err := os.Stat(filepath.Join(within, "checkpoint")); err == nil {
		return within
	}
	return path
}

// ofRunInStore is ofRun for a URL. It also finds the values of a SavedModel.
func ofRunInStore(url string) string {
	for _, name := range []string{"checkpoints/checkpoint", "variables/variables.index"} {
		if _, err := remote.Default.Stat(context.Background(), remote.Join(url, name)); err == nil {
			return remote.Join(url, strings.TrimSuffix(strings.TrimSuffix(name, "/checkpoint"), ".index"))
		}
	}
	return url
}

// openFile opens a file of weights.
func openFile(path string, parse func(f *file) error) (*Source, error) {
	s := &Source{Path: path}
	if remote.IsURL(path) {
		object, err := remote.Open(context.Background(), path)
		if err != nil {
			return nil, err
		}
		return s.parse(object, object.Size(), parse)
	}
	open, info, err := regularfile.OpenFile(path)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		e := millrace.Errorf(millrace.ErrCheckpoint, "%w", errors.Join(err, millrace.ErrIO))
		e.Op, e.File = "read weights", path
		return nil, e
	}
	return s.parse(open, info.Size(), parse)
}

// parse reads the list of tensors of an open file.
func (s *Source) parse(open openedFile, size int64, parse func(f *file) error) (*Source, error) {
	s.close = open.Close
	if err := parse(&file{Source: s, r: open, size: size}); err != nil {
		open.Close()
		return nil, s.failure("%w", err)
	}
	return s, nil
}

// openedFile is a file or an object.
type openedFile interface {
	io.ReaderAt
	io.Closer
}

// noWeights says what a path would have to be that cannot be looked at, or is a file.
func noWeights(path string, err error) error {
	what := "the file is of no known form"
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		what = "there is no such file"
	case errors.As(err, &p):
		what = p.Err.Error()
	}
	e := millrace.Errorf(millrace.ErrCheckpoint, "%s; weights are the folder of a SavedModel or of checkpoints, a checkpoint by its name without .index, "+
		"or a file whose name ends in .keras, .h5, .hdf5 or .safetensors", what)
	e.Op, e.File = "read weights", path
	return e
}
