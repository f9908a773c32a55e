package remote

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"

	"millrace"
)

// ReadFile returns the content of an object of at most limit bytes with the [Default] client. It
// asks the store for the present version. A small object takes one request.
func ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	info, err := Default.Peek(ctx, name)
	if err != nil {
		return nil, err
	}
	if info.Size > limit {
		e := millrace.Errorf(millrace.ErrIO, "it has %d bytes, and at most %d are read", info.Size, limit)
		e.Op, e.File = "read", public(name)
		return nil, e
	}
	f, err := Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, f.Size())
	if _, err := f.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data, nil
}

// UploadFile copies a file to a URL with the [Default] client, whole or not at all.
func UploadFile(ctx context.Context, path, url string) error {
	return copyFrom(ctx, Default, path, url)
}

// Names returns the names, without their folder, of the objects whose URLs begin with a prefix
// such as "s3://bucket/run/ckpt-", with the [Default] client. Objects in folders below are not
// among them.
func Names(ctx context.Context, prefix string) (names []string, err error) {
	folder := prefix[:strings.LastIndexByte(prefix, '/')+1]
	for o, err := range Default.List(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(o.URL, folder)
		if name != "" && filepath.IsLocal(name) && !strings.ContainsAny(name, "/\\") {
			names = append(names, name)
		}
	}
	return names, nil
}

// DownloadFiles copies the objects that [Names] names to a folder, which must exist. It returns
// their names.
func DownloadFiles(ctx context.Context, prefix, dir string) (names []string, err error) {
	if names, err = Names(ctx, prefix); err != nil {
		return nil, err
	}
	folder := prefix[:strings.LastIndexByte(prefix, '/')+1]
	for _, name := range names {
		if err := copyTo(ctx, Default, folder+name, filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return names, nil
}
