// Package runtimedir describes installed TensorFlow runtimes: the pinned wheels and
// libraries, where runtimes are installed, the contents of their runtime.json, and
// whether their libraries have changed since. Package install fills such a directory;
// tfbridge opens it.
package runtimedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"millrace"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/regularfile"
)

// The files of a runtime directory.
const (
	LibraryCC        = "libtensorflow_cc.so.2"        // the whole C API
	LibraryFramework = "libtensorflow_framework.so.2" // LibraryCC depends on it; opened first
	IncludeDir       = "include"                      // headers that C++ ops compile against
	InfoFile         = "runtime.json"                 // an Installed as JSON
)

// Libraries are the shared objects of a runtime in the order they are opened.
var Libraries = [2]string{LibraryFramework, LibraryCC}

// The variants of a runtime.
const (
	CPU  = "cpu"
	CUDA = "cuda"
)

// Remedy is the command that repairs a missing or broken runtime.
const Remedy = "millrace runtime install"

// Installed describes a runtime directory that package install filled.
type Installed struct {
	Dir          string    `json:"-"`             // the runtime directory
	Version      string    `json:"version"`       // version of TensorFlow: "2.21.0"
	Variant      string    `json:"variant"`       // CPU or CUDA
	Arch         string    `json:"arch"`          // architecture as in GOARCH: "amd64"
	Source       string    `json:"source"`        // base name of the wheel, tarball or directory it came from
	SourceSHA256 string    `json:"source_sha256"` // hash of the wheel or tarball; "" for a directory
	Pinned       bool      `json:"pinned"`        // the libraries are those of pins.json
	Libraries    []Library `json:"libraries"`     // libraries in the order of Libraries
}

// Library is one shared object with its hash. While the file's size, time and inode are
// unchanged, we assume that its contents are unchanged too. Time and inode are 0 in a
// runtime that was exported to become part of an image.
type Library struct {
	Name    string `json:"name"`
	SHA256  string `json:"sha256"`
	Size    int64  `json:"size"`
	ModTime int64  `json:"mtime_ns"`
	Inode   uint64 `json:"inode"`
}

// Root returns the directory that runtimes are installed in by default.
func Root() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", millrace.Errorf(millrace.ErrRuntime, "no user cache directory to keep the runtime in: %w", err)
	}
	return filepath.Join(cache, "millrace", "runtime"), nil
}

// Name returns the name of a variant's directory below the root.
func Name(variant string) string { return Pinned().Version + "-" + variant }

// Read returns the contents of dir's runtime.json. The error is fs.ErrNotExist if dir
// has none, as in a directory that another program filled.
func Read(dir string) (*Installed, error) {
	path := filepath.Join(dir, InfoFile)
	b, err := regularfile.ReadFile(path, regularfile.TextBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, problem(millrace.ErrIO, path, "%w", cause(err))
	}
	in := &Installed{Dir: dir}
	if err := json.Unmarshal(b, in); err != nil {
		return nil, problem(millrace.ErrRuntime, path, "not a description of a runtime: %w; type %s", err, Remedy)
	}
	if len(in.Libraries) != len(Libraries) {
		return nil, problem(millrace.ErrRuntime, path, "describes %d libraries, want %d; type %s", len(in.Libraries), len(Libraries), Remedy)
	}
	for i, name := range Libraries {
		if in.Libraries[i].Name != name {
			return nil, problem(millrace.ErrRuntime, path, "library %d is %s, want %s; type %s", i, millrace.QuoteData([]byte(in.Libraries[i].Name)), name, Remedy)
		}
	}
	return in, nil
}

// Find returns the runtimes below root that package install put there, the CPU
// variant first. An empty result is not an error.
func Find(root string) ([]*Installed, error) {
	var found []*Installed
	for _, variant := range []string{CPU, CUDA} {
		in, err := Read(filepath.Join(root, Name(variant)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, in)
	}
	return found, nil
}

// Write writes the description next to the libraries in in.Dir.
func (in *Installed) Write() error {
	b, err := json.MarshalIndent(in, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(in.Dir, InfoFile)
	if err := atomicfile.Write(path, append(b, '\n'), 0o644); err != nil {
		return problem(millrace.ErrIO, path, "%w", atomicfile.Cause(err))
	}
	return nil
}

// String names the runtime: "TensorFlow 2.21.0 (cpu, amd64)".
func (in *Installed) String() string {
	return fmt.Sprintf("TensorFlow %s (%s, %s)", in.Version, in.Variant, in.Arch)
}

// checkPlatform returns an error for a runtime of another version or for
// another machine.
func (in *Installed) checkPlatform() error {
	path := filepath.Join(in.Dir, InfoFile)
	if want := Pinned().Version; in.Version != want {
		return problem(millrace.ErrRuntime, path, "TensorFlow %s is installed, want %s; type %s", in.Version, want, Remedy)
	}
	if in.Arch != runtime.GOARCH {
		return problem(millrace.ErrRuntime, path, "the libraries are for %s, but this machine is %s; type %s", in.Arch, runtime.GOARCH, Remedy)
	}
	return nil
}

// problem returns an error about a file.
func problem(class millrace.Class, file, format string, args ...any) error {
	e := millrace.Errorf(class, format, args...)
	e.File = file
	return e
}

// cause removes the path from an error. The caller adds the path itself.
func cause(err error) error {
	if p, ok := err.(*fs.PathError); ok {
		return p.Err
	}
	return err
}
