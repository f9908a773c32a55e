package install

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"

	"millrace"
	"millrace/internal/base/regularfile"
	"millrace/internal/base/runtimedir"
)

// source is a wheel, a tarball or a directory with a runtime.
type source struct {
	path   string
	name   string            // base name of path
	sha256 string            // hash of the file; "" for a directory
	libs   map[string]string // SHA-256 of a directory's libraries, by name
	unpack func(ctx context.Context, t *tree) error
	room   func(bytes int64) error // returns an error if the disk lacks space
}

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

// tampered returns the error about a file with the name of a pinned wheel but other
// contents.
func (in *installer) tampered(s *source, want *runtimedir.Wheel) error {
	size := int64(0)
	if info, err := os.Stat(s.path); err == nil {
		size = info.Size()
	}
	return problem(millrace.ErrCorrupt, s.path, "has %d bytes and SHA-256 %s, want %d and %s: the file is damaged, or is not the wheel that its name says", size, s.sha256, want.Size, want.SHA256)
}

// start returns the first bytes of a file, which identify its format.
func start(path string) ([]byte, error) {
	f, _, err := regularfile.OpenFile(path)
	if err != nil {
		return nil, ioError(err)
	}
	defer f.Close()
	head := make([]byte, tarMagicEnd)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, ioError(err)
	}
	return head[:n], nil
}

// made reports whether the runtime have was installed from s, or from a source
// with the same hashes.
func (s *source) made(have *runtimedir.Installed) bool {
	if s.libs == nil {
		return s.sha256 == have.SourceSHA256
	}
	for _, l := range have.Libraries {
		if s.libs[l.Name] != l.SHA256 {
			return false
		}
	}
	return true
}
