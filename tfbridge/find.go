//go:build cgo

package tfbridge

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"millrace"
	"millrace/internal/base/regularfile"
	"millrace/internal/base/runtimedir"
)

// RuntimeEnv names the environment variable with the path of the runtime.
const RuntimeEnv = "MILLRACE_RUNTIME"

// PrelinkedEnv names the environment variable that, set to false, makes Open open
// TensorFlow's libraries as they were installed, instead of their prelinked copies,
// which open faster.
const PrelinkedEnv = "MILLRACE_PRELINKED"

// getenv looks up a variable of the environment, which C sees as well.
func getenv(name string) string { return os.Getenv(name) }

// mainFiles are the file names of the main library in TensorFlow's Python package and
// in its C package.
var mainFiles = []string{runtimedir.LibraryCC, "libtensorflow.so.2"}

// library holds the paths of a runtime's files.
type library struct {
	dir, framework, main string
	prelinked            bool // framework and main are prelinked copies
}

// find looks for the runtime's files without opening them.
func find(dir string) (*library, error) {
	if dir == "" {
		dir = getenv(RuntimeEnv)
	}
	if dir != "" {
		return findIn(dir)
	}
	root, err := runtimedir.Root()
	if err != nil {
		return nil, err
	}
	lib, err := findIn(filepath.Join(root, runtimedir.Name(runtimedir.CPU)))
	if err == nil {
		return lib, nil
	}
	if cuda, cudaErr := findIn(filepath.Join(root, runtimedir.Name(runtimedir.CUDA))); cudaErr == nil {
		return cuda, nil
	}
	return nil, err
}

// findIn looks for the runtime's files in one directory and in its lib.
func findIn(dir string) (*library, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, errMissing(dir)
	}
	for _, d := range []string{abs, filepath.Join(abs, "lib")} {
		framework := filepath.Join(d, runtimedir.LibraryFramework)
		if !isFile(framework) {
			continue
		}
		for _, name := range mainFiles {
			if file := filepath.Join(d, name); isFile(file) {
				return &library{dir: abs, framework: framework, main: file}, nil
			}
		}
	}
	return nil, errMissing(abs)
}

// isFile reports whether path is a regular file or a link to one.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// verify checks that the files are complete and match this machine. It reports whether
// "millrace runtime install" installed them, so that they belong together.
func (l *library) verify() (known bool, err error) {
	in, err := runtimedir.Read(l.dir)
	if err == nil {
		return true, l.choose(in)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	for _, path := range []string{l.framework, l.main} {
		if err := runtimedir.CheckELF(path); err != nil {
			return false, err
		}
		if err := checkWhole(path); err != nil {
			return false, errBroken(path, err)
		}
	}
	return false, nil
}

// choose checks the libraries of an installed runtime: the prelinked ones or, if they
// are missing or cannot be trusted, the original ones.
func (l *library) choose(in *runtimedir.Installed) error {
	prelinked, err := wantsPrelinked()
	if err != nil {
		return err
	}
	if prelinked {
		if made, err := runtimedir.Pinned().Prelinked(in, false); err == nil {
			l.framework = filepath.Join(made.Dir, runtimedir.LibraryFramework)
			l.main = filepath.Join(made.Dir, runtimedir.LibraryCC)
			l.prelinked = true
			return nil
		}
	}
	return in.Verify(false)
}

// wantsPrelinked reports whether the environment admits prelinked libraries.
func wantsPrelinked() (bool, error) {
	value := getenv(PrelinkedEnv)
	if value == "" {
		return true, nil
	}
	prelinked, err := strconv.ParseBool(value)
	if err != nil {
		return false, millrace.Errorf(millrace.ErrConfig, "environment variable %s is %s, want true or false", PrelinkedEnv, millrace.QuoteData([]byte(value)))
	}
	return prelinked, nil
}

// checkWhole refuses a truncated library. The dynamic linker would map it, and
// SIGBUS would end the process when the missing part is read.
func checkWhole(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := regularfile.OpenELF(path)
	var perr *fs.PathError
	if err != nil && !errors.As(err, &perr) {
		err = fmt.Errorf("not a shared library: %w", err)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if end := p.Off + p.Filesz; p.Type == elf.PT_LOAD && end > uint64(info.Size()) {
			return fmt.Errorf("cut short: has %d bytes, needs %d", info.Size(), end)
		}
	}
	return nil
}

// errMissing returns the error about a runtime that was not found.
func errMissing(dir string) error {
	e := millrace.Errorf(millrace.ErrRuntime, "no TensorFlow %s found (%s and %s); to install it, type %s; to use another copy, set %s to its directory",
		versionRange, runtimedir.LibraryFramework, runtimedir.LibraryCC, runtimedir.Remedy, RuntimeEnv)
	e.File = dir
	return e
}

// errBroken returns the error about a runtime that cannot be opened.
func errBroken(path string, cause error) error {
	e := millrace.Errorf(millrace.ErrRuntime, "open TensorFlow %s: %w; type %s", versionRange, cause, runtimedir.Remedy)
	e.File = path
	return e
}
