package modelfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"millrace"
	"millrace/internal/base/regularfile"
)

// Folder is a model's folder, opened. Its files are opened through it. So the kernel
// refuses every path that leaves the folder, by ".." or by a symbolic link, including a
// link that another process creates in the meantime.
type Folder struct {
	Dir  string
	root *os.Root

	// Refused is called for paths that leave the folder, which are then opened; nil:
	// such paths are errors.
	Refused func(error)
}

// Open opens the model's folder. The folder itself may be reached through
// symbolic links.
func Open(dir string) (*Folder, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, Fail(dir, "there is no such model folder")
	case err != nil:
		return nil, FailIO(dir, err)
	case !info.IsDir():
		return nil, Fail(dir, "not a folder: a SavedModel is one that holds saved_model.pb")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, FailIO(dir, err)
	}
	return &Folder{Dir: dir, root: root}, nil
}

// Close closes the folder; files opened through it stay open.
func (f *Folder) Close() { f.root.Close() }

// Has reports whether the folder has an entry, of whatever kind.
func (f *Folder) Has(name string) bool {
	_, err := f.root.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// Opening is the result of opening a file.
type Opening struct {
	File *os.File
	Name string
	Size int64
	Err  error // an error with a class
}

// Open opens a regular file of the folder.
func (f *Folder) Open(name string) Opening {
	file, err := f.root.OpenFile(name, regularfile.Flags, 0)
	path := filepath.Join(f.Dir, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && f.leaves(path) {
		e := Fail(path, "a symbolic link leads out of the model's folder; copy the file to where the link is")
		e.Class, e.Err = millrace.ErrUnsafeModel, err
		if f.Refused == nil {
			return Opening{Err: e}
		}
		f.Refused(e)
		return OpenFile(path)
	}
	return regularFile(path, file, err)
}

// leaves reports whether a path, or its existing part, leads out of the folder.
func (f *Folder) leaves(path string) bool {
	here, err := filepath.EvalSymlinks(f.Dir)
	if err != nil {
		return false
	}
	there, err := filepath.EvalSymlinks(path)
	for err != nil && path != f.Dir && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		there, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return false
	}
	inside, err := filepath.Rel(here, there)
	return err != nil || !filepath.IsLocal(inside)
}

// OpenFile opens a regular file by its path.
func OpenFile(path string) Opening {
	file, err := os.OpenFile(path, regularfile.Flags, 0)
	return regularFile(path, file, err)
}

// regularFile refuses everything but regular files, since others could block forever.
// It checks the file after opening it, because a path may refer to another file by the
// time it is opened.
func regularFile(path string, file *os.File, err error) Opening {
	if err != nil {
		return Opening{Name: path, Err: FailIO(path, err)}
	}
	info, err := regularfile.Check(file)
	if err == nil {
		return Opening{File: file, Name: path, Size: info.Size()}
	}
	file.Close()
	var odd *regularfile.Error
	if errors.As(err, &odd) {
		return Opening{Name: path, Err: Fail(path, "not a regular file")}
	}
	return Opening{Name: path, Err: FailIO(path, err)}
}

// ReadWhole reads a file of at most limit bytes and closes it.
func (o Opening) ReadWhole(limit int64) ([]byte, error) {
	if o.Err != nil {
		return nil, o.Err
	}
	defer o.File.Close()
	if o.Size > limit {
		e := Fail(o.Name, "%d bytes, at most %d are read", o.Size, limit)
		e.Err = millrace.ErrLimit
		return nil, e
	}
	data := make([]byte, o.Size)
	n, err := io.ReadFull(o.File, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		e := Fail(o.Name, "it shrank from %d to %d bytes while it was read", o.Size, n)
		e.Err = millrace.ErrTruncated
		return nil, e
	}
	if err != nil {
		return nil, FailIO(o.Name, err)
	}
	return data, nil
}
