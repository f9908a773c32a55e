package savedmodel

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"millrace"
	"millrace/internal/base/regularfile"
)

// folder is a model's folder, opened. Its files are opened through it. So the
// kernel refuses every path that leaves the folder, by ".." or by a symbolic link,
// also a link that another process puts there in the meantime.
type folder struct {
	dir  string
	root *os.Root

	// refused hears of the paths that leave the folder, which are opened then; nil:
	// they are errors.
	refused func(error)
}

// openFolder opens the model's folder. The folder itself may be reached through
// symbolic links.
func openFolder(dir string) (*folder, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, failAt(dir, "there is no such model folder")
	case err != nil:
		return nil, failIO(dir, err)
	case !info.IsDir():
		return nil, failAt(dir, "not a folder: a SavedModel is one that holds saved_model.pb")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, failIO(dir, err)
	}
	return &folder{dir: dir, root: root}, nil
}

// close closes the folder; files opened through it stay open.
func (f *folder) close() { f.root.Close() }

// has reports whether the folder has an entry, of whatever kind.
func (f *folder) has(name string) bool {
	_, err := f.root.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// opening is what came of opening a file.
type opening struct {
	file *os.File
	name string
	size int64
	err  error // with a class
}

// open opens a regular file of the folder.
func (f *folder) open(name string) opening {
	file, err := f.root.OpenFile(name, regularfile.Flags, 0)
	path := filepath.Join(f.dir, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && f.leaves(path) {
		e := failAt(path, "a symbolic link leads out of the model's folder; copy the file to where the link is")
		e.Class, e.Err = millrace.ErrUnsafeModel, err
		if f.refused == nil {
			return opening{err: e}
		}
		f.refused(e)
		return openFile(path)
	}
	return regularFile(path, file, err)
}

// leaves reports whether a path, or as much of it as there is, leads out of the
// folder.
func (f *folder) leaves(path string) bool {
	here, err := filepath.EvalSymlinks(f.dir)
	if err != nil {
		return false
	}
	there, err := filepath.EvalSymlinks(path)
	for err != nil && path != f.dir && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		there, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return false
	}
	inside, err := filepath.Rel(here, there)
	return err != nil || !filepath.IsLocal(inside)
}

// openFile opens a regular file by its path.
func openFile(path string) opening {
	file, err := os.OpenFile(path, regularfile.Flags, 0)
	return regularFile(path, file, err)
}

// regularFile refuses everything but regular files, since others could block for
// ever. The file is looked at once it is open: a path may come to mean another
// file between a look at it and its opening.
func regularFile(path string, file *os.File, err error) opening {
	if err != nil {
		return opening{name: path, err: failIO(path, err)}
	}
	info, err := regularfile.Check(file)
	if err == nil {
		return opening{file: file, name: path, size: info.Size()}
	}
	file.Close()
	var odd *regularfile.Error
	if errors.As(err, &odd) {
		return opening{name: path, err: failAt(path, "not a regular file")}
	}
	return opening{name: path, err: failIO(path, err)}
}

// readWhole reads a file of at most limit bytes and closes it.
func (o opening) readWhole(limit int64) ([]byte, error) {
	if o.err != nil {
		return nil, o.err
	}
	defer o.file.Close()
	if o.size > limit {
		e := failAt(o.name, "%d bytes, at most %d are read", o.size, limit)
		e.Err = millrace.ErrLimit
		return nil, e
	}
	data := make([]byte, o.size)
	n, err := io.ReadFull(o.file, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		e := failAt(o.name, "it shrank from %d to %d bytes while it was read", o.size, n)
		e.Err = millrace.ErrTruncated
		return nil, e
	}
	if err != nil {
		return nil, failIO(o.name, err)
	}
	return data, nil
}
