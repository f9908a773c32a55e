package install

import (
	"context"
	"os"
	"path/filepath"

	"millrace/internal/base/atomicfile"
	"millrace/internal/base/runtimedir"
)

// Fetch downloads the pinned wheel of a variant into dir, checks it and returns
// its path. If the wheel is already there, Fetch only checks it. Fetch uses the
// options Variant, Pip and Progress.
func Fetch(ctx context.Context, dir string, o *Options) (string, error) {
	in, err := newInstaller(&Options{Variant: o.Variant, Pip: o.Pip, Progress: o.Progress, Dir: dir, pins: o.pins})
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(in.root, 0o755); err != nil {
		return "", ioError(err)
	}
	unlock, err := lock(ctx, in.root, in.say)
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(in.root, in.pin.File)
	if sum, err := runtimedir.HashFile(path); err == nil && sum == in.pin.SHA256 {
		return path, nil
	}
	if err := sweep(in.root); err != nil {
		return "", err
	}
	if in.work, err = os.MkdirTemp(in.root, workPrefix); err != nil {
		return "", ioError(err)
	}
	defer os.RemoveAll(in.work)
	src, err := in.source(ctx)
	if err != nil {
		return "", err
	}
	return path, atomicfile.Rename(src.path, path)
}
