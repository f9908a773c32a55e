package spec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"millrace"
	"millrace/internal/base/regularfile"
	"millrace/remote"
)

// disk gives a check access to files. With a root, no path leads out of the root, neither
// by ".." nor by symbolic links.
type disk struct {
	base string // where relative paths start, absolute
	root *os.Root
	dir  string // absolute path of root
}

// newDisk returns a disk that works even with an error, for later messages.
func newDisk(base, root string) (*disk, error) {
	d := &disk{base: base}
	var err error
	if !remote.IsURL(base) {
		d.base, err = filepath.Abs(base)
	}
	if err != nil || root == "" {
		return d, err
	}
	if d.dir, err = filepath.Abs(root); err != nil {
		return d, err
	}
	d.root, err = os.OpenRoot(d.dir)
	return d, err
}

func (d *disk) close() {
	if d.root != nil {
		d.root.Close() // opened for reading: nothing can be lost
	}
}

// resolve returns a path of the config as an absolute one.
func (d *disk) resolve(path string) string {
	switch {
	case remote.IsURL(path):
		return remote.Default.Conceal(path)
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	}
	return join(d.base, path)
}

// join returns the path of a name in a folder, which may be a URL.
func join(folder, name string) string {
	if remote.IsURL(folder) {
		return remote.Join(folder, name)
	}
	return filepath.Join(folder, name)
}

// dirOf returns the folder of a file, which may be a URL.
func dirOf(path string) string {
	if remote.IsURL(path) {
		return remote.Dir(path)
	}
	return filepath.Dir(path)
}

// outsideError says that a path leads out of the root.
type outsideError struct{ path, root string }

func (e *outsideError) Error() string {
	return fmt.Sprintf("leads out of %s", millrace.Quote(e.root))
}

// inside returns the path below the root.
func (d *disk) inside(path string) (string, error) {
	rel, err := filepath.Rel(d.dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", &outsideError{path, d.dir}
	}
	return rel, nil
}

// outside replaces the error of os.Root for a link that leads out of it. Package
// os does not export that error, but a root returns it for its own parent.
func (d *disk) outside(path string, err error) error {
	if err == nil {
		return nil
	}
	_, escape := d.root.Lstat("..")
	if errors.Is(err, reason(escape)) {
		return &outsideError{path, d.dir}
	}
	return err
}

func (d *disk) stat(path string) (fs.FileInfo, error) {
	if remote.IsURL(path) {
		if d.root != nil {
			return nil, &outsideError{path, d.dir}
		}
		info, err := remote.Default.Stat(context.Background(), path)
		return remote.FileInfo{URL: path, Info: info}, err
	}
	if d.root == nil {
		return os.Stat(path)
	}
	rel, err := d.inside(path)
	if err != nil {
		return nil, err
	}
	info, err := d.root.Stat(rel)
	return info, d.outside(path, err)
}

// open opens a file or folder.
func (d *disk) open(path string) (*os.File, error) {
	const flags = regularfile.Flags
	if d.root == nil {
		return os.OpenFile(path, flags, 0)
	}
	rel, err := d.inside(path)
	if err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(rel, flags, 0)
	return f, d.outside(path, err)
}

// openRegular opens a regular file, or the URL of an object, and refuses everything else.
func (d *disk) openRegular(path string) (io.ReadCloser, error) {
	if remote.IsURL(path) {
		if d.root != nil {
			return nil, &outsideError{path, d.dir}
		}
		if _, err := remote.Default.Peek(context.Background(), path); err != nil {
			return nil, err
		}
		return remote.Open(context.Background(), path)
	}
	f, _, err := regularfile.Open(func() (fs.FileInfo, error) { return d.stat(path) }, func() (*os.File, error) { return d.open(path) })
	return f, inConfig(err)
}

// notRegular returns an error if a file is not a regular one.
func notRegular(info fs.FileInfo) error { return inConfig(regularfile.CheckInfo(info)) }

// inConfig formats an error as the rest of a sentence that begins with the path.
func inConfig(err error) error {
	var odd *regularfile.Error
	switch {
	case !errors.As(err, &odd):
		return err
	case odd.OfKernel:
		return errors.New("is a file of the kernel's, not a regular file")
	case odd.Dir:
		return errors.New("is a folder, not a file")
	}
	return errors.New("is not a regular file")
}

// read returns the content of a file, up to limit+1 bytes.
func (d *disk) read(path string, limit int64) ([]byte, error) {
	f, err := d.openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// reason returns an error of the operating system without the call and the
// path, which the message names anyway.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var own *millrace.Error
	if errors.As(err, &own) && remote.IsURL(own.File) {
		return errors.New(own.Msg)
	}
	return err
}

// classOf returns the class of an error: a forbidden path, or a failed read.
func classOf(err error) millrace.Class {
	var out *outsideError
	if errors.As(err, &out) || errors.Is(err, millrace.ErrConfig) {
		return millrace.ErrConfig
	}
	return millrace.ErrIO
}

// schemeOf returns the scheme of a path such as "gs://bucket/name".
func schemeOf(path string) (string, bool) { return remote.SchemeOf(path) }

// withoutFileScheme returns the local path of a "file://" path, with or without
// a host, which TensorFlow ignores. Other paths stay as they are.
func withoutFileScheme(path string) string {
	rest, ok := strings.CutPrefix(path, "file://")
	if slash := strings.IndexByte(rest, '/'); ok && slash >= 0 {
		return rest[slash:]
	}
	return path
}

// PrintablePath returns a path without secrets: it removes a user's name and password, and
// everything after a question mark, which may contain a key.
func PrintablePath(path string) string {
	scheme, ok := schemeOf(path)
	if !ok {
		return millrace.Quote(path)
	}
	rest, _, _ := strings.Cut(path[len(scheme)+len("://"):], "?")
	host, name, slash := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if slash {
		host += "/"
	}
	return millrace.Quote(scheme + "://" + host + name)
}
