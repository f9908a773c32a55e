package install

import (
	"archive/tar"
	"context"
	"io"
	"os"
	"path"
	"regexp"
	"strings"

	"github.com/klauspost/compress/gzip"

	"millrace"
	"millrace/internal/runtimedir"
)

// libraryName matches the file names of the libraries in TensorFlow's builds.
// The official tarball's libtensorflow.so is the wheel's libtensorflow_cc.so:
// it, too, exports the whole C API.
var libraryName = regexp.MustCompile(`^libtensorflow(_cc|_framework)?\.so(\.[0-9.]+)?$`)

// libraryOf returns the name of a library in a runtime, "" for other files.
func libraryOf(base string) string {
	m := libraryName.FindStringSubmatch(base)
	switch {
	case m == nil:
		return ""
	case m[1] == "_framework":
		return runtimedir.LibraryFramework
	}
	return runtimedir.LibraryCC
}

// unpackTarball writes the wanted members of an official libtensorflow
// tarball to t: lib/libtensorflow*.so*, include/ and the licences.
func (s *source) unpackTarball(ctx context.Context, t *tree) error {
	f, err := os.Open(s.path)
	if err != nil {
		return ioError(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(&canceling{ctx, f})
	if err != nil {
		return problem(millrace.ErrCorrupt, s.path, "not a tarball: %w", err)
	}
	defer gz.Close()
	for members := tar.NewReader(gz); ; {
		h, err := members.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return problem(millrace.ErrCorrupt, s.path, "the tarball is incomplete: %w", err)
		}
		if err := s.tarMember(t, h, members); err != nil {
			return err
		}
	}
}

// tarMember writes one member. It skips links: each library is one file, and
// the links lead to it.
func (s *source) tarMember(t *tree, h *tar.Header, r io.Reader) error {
	if h.Typeflag != tar.TypeReg {
		return nil
	}
	name := strings.TrimPrefix(h.Name, "./")
	switch dir, base := path.Split(name); {
	case dir == "lib/" && libraryOf(base) != "":
		name = libraryOf(base)
	case strings.HasPrefix(name, runtimedir.IncludeDir+"/"), name == license:
	case dir == "" && strings.HasPrefix(name, "THIRD_PARTY"):
	default:
		return nil
	}
	if h.Size > limitOf(name) {
		return problem(millrace.ErrLimit, s.path, "%s has %d bytes, at most %d are allowed", millrace.QuoteData([]byte(h.Name)), h.Size, limitOf(name))
	}
	if _, err := t.write(name, r, h.Size); err != nil {
		return s.unpacking(err)
	}
	return nil
}
