package remote

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"millrace"
)

// Download copies the objects below a URL to a folder, which must exist, with the [Default]
// client. The copies are of one moment: it is an error if objects change while they are copied.
// The error wraps fs.ErrNotExist where the store has nothing. After an error the folder has some of
// the files.
func Download(ctx context.Context, url, dir string) error {
	objects, err := below(ctx, Default, url)
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		e := millrace.Errorf(millrace.ErrIO, "there is nothing below this URL: %w", fs.ErrNotExist)
		e.Op, e.File = "read", public(url)
		return e
	}
	for name := range objects {
		if err := copyTo(ctx, Default, Join(url, name), filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	now, err := below(ctx, Default, url)
	if err == nil && !maps.Equal(now, objects) {
		e := millrace.Errorf(millrace.ErrIO, "objects below this URL changed while they were copied: %w", ErrChanged)
		e.Op, e.File = "read", public(url)
		return e
	}
	return err
}

// below returns the objects below a URL by their names relative to it.
func below(ctx context.Context, c *Client, url string) (map[string]Info, error) {
	folder := strings.TrimSuffix(url, "/") + "/"
	objects := map[string]Info{}
	for o, err := range c.List(ctx, folder) {
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(o.URL, folder)
		if name == "" || strings.HasSuffix(name, "/") {
			continue // made by programs that show folders
		}
		if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, "//") {
			e := millrace.Errorf(millrace.ErrIO, "the name leads out of the folder, or is not the name of a file")
			e.Op, e.File = "read", public(o.URL)
			return nil, e
		}
		objects[name] = o.Info
	}
	return objects, nil
}

// copyTo copies an object to a new file.
func copyTo(ctx context.Context, c *Client, url, path string) error {
	from, err := c.Open(ctx, url)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return diskError(path, err)
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return diskError(path, err)
	}
	_, err = io.CopyBuffer(to, struct{ io.Reader }{from}, make([]byte, 1<<20))
	if closed := to.Close(); err == nil {
		err = closed
	}
	return diskError(path, err)
}

// diskError describes an error of the operating system; other errors stay.
func diskError(path string, err error) error {
	var p *fs.PathError
	if !errors.As(err, &p) {
		return err
	}
	e := millrace.Errorf(millrace.ErrIO, "%w", p.Err)
	e.Op, e.File = p.Op, path
	return e
}
