package install

import (
	"archive/tar"
	"io"
	"path"
	"regexp"
	"strings"

	"millrace"
	"millrace/internal/base/runtimedir"
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

// unpackTarball writes the wanted members of an official libtensorflow tarball to t:
// lib/libtensorflow*.so*, include/ and the licences. The first member, h, has already
// been read.
func (s *source) unpackTarball(t *tree, h *tar.Header, members *tar.Reader) error {
	for err := error(nil); err != io.EOF; h, err = members.Next() {
		if err != nil {
			return s.broken(err)
		}
		if err := s.tarMember(t, h, members); err != nil {
			return err
		}
	}
	return nil
}

// tarMember writes one member. It skips links: each library is one file, and the links
// refer to it.
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
