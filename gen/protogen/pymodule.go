package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// descriptors is a list of proto files, imports before importers.
type descriptors []*descriptorpb.FileDescriptorProto

// readDescriptors returns the descriptor of every *_pb2.py file in a wheel or
// below a folder, by proto path.
func readDescriptors(from string) (map[string]*descriptorpb.FileDescriptorProto, error) {
	fsys, closeFS, err := openTree(from)
	if err != nil {
		return nil, err
	}
	defer closeFS()
	all := map[string]*descriptorpb.FileDescriptorProto{}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_pb2.py") {
			return err
		}
		f, err := readModule(fsys, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if f != nil {
			all[f.GetName()] = f
		}
		return nil
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("no *_pb2.py below %s", from)
	}
	return all, err
}

// openTree opens a wheel (a zip file) or a folder as a file system.
func openTree(from string) (fs.FS, func() error, error) {
	info, err := os.Stat(from)
	if err != nil {
		return nil, nil, err
	}
	if info.IsDir() {
		return os.DirFS(from), func() error { return nil }, nil
	}
	z, err := zip.OpenReader(from)
	if err != nil {
		return nil, nil, err
	}
	return z, z.Close, nil
}

// readModule returns the descriptor in one generated Python module, nil if it
// holds none.
func readModule(fsys fs.FS, name string) (*descriptorpb.FileDescriptorProto, error) {
	r, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	_, literal, found := strings.Cut(string(text), "AddSerializedFile(b")
	if !found {
		return nil, nil
	}
	data, err := unquotePython(literal)
	if err != nil {
		return nil, err
	}
	f := &descriptorpb.FileDescriptorProto{}
	return f, proto.Unmarshal(data, f)
}

// pythonEscapes are the one-letter escapes of a Python bytes literal.
var pythonEscapes = map[byte]byte{
	'n': '\n', 't': '\t', 'r': '\r', 'a': '\a', 'b': '\b', 'f': '\f', 'v': '\v',
	'\\': '\\', '\'': '\'', '"': '"',
}

// unquotePython decodes the Python bytes literal that s starts with, without
// its prefix b; what follows the literal is ignored.
func unquotePython(s string) ([]byte, error) {
	if s == "" || (s[0] != '\'' && s[0] != '"') {
		return nil, errors.New("no bytes literal")
	}
	quote, s := s[0], s[1:]
	var out []byte
	for i := 0; i < len(s); {
		switch {
		case s[i] == quote:
			return out, nil
		case s[i] != '\\':
			out = append(out, s[i])
			i++
		default:
			c, n, err := unescapePython(s[i:])
			if err != nil {
				return nil, err
			}
			out = append(out, c)
			i += n
		}
	}
	return nil, errors.New("bytes literal without an end")
}

// unescapePython decodes the escape sequence that s starts with, and returns
// its length.
func unescapePython(s string) (c byte, n int, err error) {
	if len(s) < 2 {
		return 0, 0, errors.New("backslash at the end")
	}
	if c, ok := pythonEscapes[s[1]]; ok {
		return c, 2, nil
	}
	digits, base, size := s[1:], 8, 3
	if s[1] == 'x' {
		digits, base, size = s[2:], 16, 2
	}
	if len(digits) < size {
		return 0, 0, fmt.Errorf("escape %q is cut", s)
	}
	v, err := strconv.ParseUint(digits[:size], base, 8) // protoc writes all digits
	if err != nil {
		return 0, 0, fmt.Errorf("escape %.4q: %w", s, err)
	}
	return byte(v), len(s) - len(digits) + size, nil
}
