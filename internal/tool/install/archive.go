package install

import (
	"archive/tar"
	"bytes"
	"context"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"millrace"
	"millrace/internal/base/regularfile"
)

// The first bytes of archives. A plain tar archive has its magic number in the header
// of the first member.
var (
	gzipMagic = []byte("\x1f\x8b")
	zstdMagic = []byte("\x28\xb5\x2f\xfd")
	tarMagic  = []byte("ustar")
)

const (
	tarMagicAt  = 257
	tarMagicEnd = tarMagicAt + 5
)

// isArchive reports whether the first bytes of a file are those of a tar
// archive, plain or compressed.
func isArchive(head []byte) bool {
	return bytes.HasPrefix(head, gzipMagic) || bytes.HasPrefix(head, zstdMagic) ||
		len(head) >= tarMagicEnd && bytes.Equal(head[tarMagicAt:tarMagicEnd], tarMagic)
}

// maxWindow is the maximum memory that a zstd stream may request.
const maxWindow = 128 << 20

// unpackArchive unpacks an archive of Export or an official tarball: the first member
// shows which it is.
func (s *source) unpackArchive(ctx context.Context, t *tree) error {
	f, _, err := regularfile.OpenFile(s.path)
	if err != nil {
		return ioError(err)
	}
	defer f.Close()
	r, err := decompress(&canceling{ctx, f}, f.Name())
	if err != nil {
		return err
	}
	defer r.Close()
	members := tar.NewReader(r)
	first, err := members.Next()
	switch {
	case err == io.EOF:
		return problem(millrace.ErrCorrupt, s.path, "the archive is empty")
	case err != nil:
		return s.broken(err)
	case first.Name == exportList && first.Typeflag == tar.TypeReg:
		return s.unpackExport(t, members)
	}
	return s.unpackTarball(t, first, members)
}

// decompress returns the tar archive in r, the file of a name.
func decompress(r io.Reader, name string) (io.ReadCloser, error) {
	head := make([]byte, len(zstdMagic))
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.ErrUnexpectedEOF {
		return nil, ioError(err)
	}
	r = io.MultiReader(bytes.NewReader(head[:n]), r)
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, problem(millrace.ErrCorrupt, name, "not a tarball: %w", err)
		}
		return z, nil
	case bytes.HasPrefix(head, zstdMagic):
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, problem(millrace.ErrCorrupt, name, "not a tarball: %w", err)
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(r), nil
}
