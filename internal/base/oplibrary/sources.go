package oplibrary

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"millrace"
)

// digestBytes is the number of bytes of the hash in a name.
const digestBytes = 8

// Sources returns the names of the C++ source files in dir that make up the library, in
// order. Tests are omitted.
func Sources(dir fs.FS) ([]string, error) { return match(dir, ".cc") }

// Headers returns the names of the headers in dir, in order. Headers of tests are
// omitted.
func Headers(dir fs.FS) ([]string, error) { return match(dir, ".h") }

// match returns the files with an extension that belong to the library.
func match(dir fs.FS, ext string) ([]string, error) {
	all, err := fs.Glob(dir, "*"+ext)
	if err != nil {
		return nil, fmt.Errorf("list *%s: %w", ext, err)
	}
	all = slices.DeleteFunc(all, func(name string) bool { return strings.HasSuffix(name, "_test"+ext) })
	if len(all) == 0 {
		return nil, millrace.Errorf(millrace.ErrInternal, "no *%s files among the sources", ext)
	}
	return all, nil
}

// PrecompiledHeader is the header with what most sources need of TensorFlow. It is compiled
// once and included in the sources of [UsesTensorFlow].
const PrecompiledHeader = "precompiled.h"

// include finds the headers that a file includes by a name in quotes.
var include = regexp.MustCompile(`(?m)^#include "([^"]+)"`)

// UsesTensorFlow returns the sources and headers in dir that include headers of
// TensorFlow's framework, themselves or by another header.
func UsesTensorFlow(dir fs.FS) (map[string]bool, error) {
	sources, err := Sources(dir)
	if err != nil {
		return nil, err
	}
	headers, err := Headers(dir)
	if err != nil {
		return nil, err
	}
	includes := map[string][]string{}
	for _, name := range append(headers, sources...) {
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, fmt.Errorf("read source: %w", err)
		}
		for _, m := range include.FindAllSubmatch(text, -1) {
			includes[name] = append(includes[name], string(m[1]))
		}
	}
	uses := map[string]bool{}
	var visit func(name string) bool
	visit = func(name string) bool {
		if strings.HasPrefix(name, "tensorflow/core/framework/") {
			return true
		}
		if found, visited := uses[name]; visited {
			return found
		}
		uses[name] = false // headers do not include each other in a circle
		uses[name] = slices.ContainsFunc(includes[name], visit)
		return uses[name]
	}
	for name := range includes {
		visit(name)
	}
	return uses, nil
}

// Digest returns the digest of the library's sources and headers in dir.
func Digest(dir fs.FS) (string, error) {
	sources, err := Sources(dir)
	if err != nil {
		return "", err
	}
	headers, err := Headers(dir)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range append(headers, sources...) {
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return "", fmt.Errorf("read source: %w", err)
		}
		fmt.Fprintf(h, "%s %d\n", name, len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)[:digestBytes]), nil
}

// CheckSources returns an error unless the digest of the sources in dir is the one in
// this program's library name.
func CheckSources(dir fs.FS) error {
	got, err := Digest(dir)
	if err != nil {
		return err
	}
	if got != digest {
		return millrace.Errorf(millrace.ErrInternal, "the C++ sources of cgo/datasets have the digest %s, but this program looks for %s: type make native", got, digest)
	}
	return nil
}
