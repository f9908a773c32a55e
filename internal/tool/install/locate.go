package install

import (
	"bytes"
	"context"
	"os"
	"path/filepath"

	"millrace"
	"millrace/internal/base/runtimedir"
)

// source downloads the wheel, or examines From.
func (in *installer) source(ctx context.Context) (*source, error) {
	if in.From != "" {
		return in.local(ctx)
	}
	path, err := in.download(ctx)
	if err != nil {
		return nil, err
	}
	s, err := in.file(path)
	if err != nil {
		return nil, err
	}
	if s.sha256 != in.pin.SHA256 {
		return nil, in.tampered(s, in.pin)
	}
	return s, nil
}

// local returns the source that From names.
func (in *installer) local(ctx context.Context) (*source, error) {
	path, err := filepath.Abs(in.From)
	if err != nil {
		return nil, ioError(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, ioError(err)
	}
	if info.IsDir() {
		return directory(path)
	}
	s, err := in.file(path)
	if err != nil {
		return nil, err
	}
	if pin := in.pins.ByFile(s.name); pin != nil && pin.SHA256 != s.sha256 {
		return nil, in.tampered(s, pin)
	}
	return s, nil
}

// file returns the source for a file: a wheel or an archive.
func (in *installer) file(path string) (*source, error) {
	head, err := start(path)
	if err != nil {
		return nil, err
	}
	s := &source{path: path, name: filepath.Base(path), room: in.roomFor}
	switch {
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		s.unpack = s.unpackWheel
	case isArchive(head):
		s.unpack = s.unpackArchive
	default:
		return nil, problem(millrace.ErrCorrupt, path, "neither a wheel nor a tarball: it starts with %s", millrace.QuoteData(head[:min(len(head), 32)]))
	}
	s.sha256, err = runtimedir.HashFile(path)
	return s, err
}
