package install

import (
	"context"
	"io"
	"os"

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

// broken returns the error for an archive that cannot be read to its end.
func (s *source) broken(err error) error {
	return problem(millrace.ErrCorrupt, s.path, "the archive is incomplete: %w", err)
}
