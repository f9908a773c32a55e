package ops

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"millrace"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/opstamp"
	"millrace/internal/base/regularfile"
	"millrace/internal/base/runtimedir"
	"millrace/internal/tool/cxx"
	"millrace/tfbridge"
)

// SourceDir is the folder of the C++ sources. It is separate from the Go files because
// Go refuses C++ files in a package without cgo.
const SourceDir = "cc"

// BuildOptions are the options for compiling a library. The zero value suits most
// callers.
type BuildOptions struct {
	Runtime  string    // the runtime's directory; "" the one that tfbridge.Open opens
	Compiler []string  // the C++ compiler, with arguments that always come first; nil: g++, c++ or clang++
	Flags    []string  // further arguments for each source file
	Path     string    // path of the library; "": in the folder, with the folder's name
	Force    bool      // compile even if the library is up to date
	Progress io.Writer // receives the compiler's warnings and errors; nil: they are dropped
}

// Build compiles the C++ sources in dir/cc, or in dir itself if there is no such
// folder, and returns the library's path. Sources are the files *.cc below that
// folder, without *_test.cc. A library of the same sources, flags, compiler and
// version of TensorFlow is kept, and then built is false. The library appears
// complete or not at all.
//
// A source that does not compile is an error of class millrace.ErrConfig. A
// missing compiler, and a runtime without headers, are of class
// millrace.ErrRuntime.
func Build(ctx context.Context, dir string, o *BuildOptions) (path string, built bool, err error) {
	b := &builder{dir: dir}
	if o != nil {
		b.BuildOptions = *o
	}
	if err := b.prepare(); err != nil {
		return "", false, err
	}
	if have, ok, err := opstamp.Read(b.Path); err == nil && ok && have == b.stamp && !b.Force {
		return b.Path, false, nil
	}
	if err := b.build(ctx); err != nil {
		return "", false, err
	}
	return b.Path, true, nil
}

// NeedsBuild reports whether a folder has C++ sources for [Build].
func NeedsBuild(dir string) (bool, error) {
	b := &builder{dir: dir}
	_, err := b.files()
	return len(b.sources) > 0, err
}

// builder is one call of Build.
type builder struct {
	BuildOptions
	dir     string
	sources []string // relative to dir
	stamp   opstamp.Stamp
}

// prepare finds the sources, the headers and the compiler, and makes the stamp.
func (b *builder) prepare() error {
	dir, err := filepath.Abs(b.dir)
	if err != nil {
		return ioError(err)
	}
	b.dir = dir
	if b.Path == "" {
		b.Path = filepath.Join(dir, filepath.Base(dir)+".so")
	}
	if b.Path, err = filepath.Abs(b.Path); err != nil {
		return ioError(err)
	}
	if b.Progress == nil {
		b.Progress = io.Discard
	}
	if b.Runtime, err = tfbridge.FindRuntime(&tfbridge.RuntimeOptions{Dir: b.Runtime}); err != nil {
		return err
	}
	files, err := b.sourceFiles()
	if err != nil {
		return err
	}
	if err := cxx.CheckHeaders(b.Runtime); err != nil {
		return err
	}
	if b.Compiler, err = cxx.FindCompiler(b.Compiler); err != nil {
		return err
	}
	if b.stamp.TensorFlow, err = version(b.Runtime); err != nil {
		return err
	}
	b.stamp.Sources, err = b.digest(files)
	return err
}

// version returns the version of a runtime. For a directory that millrace did not
// install, TensorFlow itself reports it.
func version(dir string) (string, error) {
	installed, err := runtimedir.Read(dir)
	if err == nil {
		return installed.Version, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	r, err := tfbridge.Open(&tfbridge.RuntimeOptions{Dir: dir})
	if err != nil {
		return "", err
	}
	return r.Version(), nil
}

// root returns the folder of the sources, relative to b.dir.
func (b *builder) root() string {
	if info, err := os.Stat(filepath.Join(b.dir, SourceDir)); err == nil && info.IsDir() {
		return SourceDir
	}
	return "."
}

// files returns the sources and headers, relative to b.dir, and sets b.sources.
func (b *builder) files() ([]string, error) {
	var files []string
	err := filepath.WalkDir(filepath.Join(b.dir, b.root()), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(b.dir, path)
		if err != nil {
			return err
		}
		switch filepath.Ext(name) {
		case ".cc":
			if !strings.HasSuffix(name, "_test.cc") {
				files, b.sources = append(files, name), append(b.sources, name)
			}
		case ".h", ".inc":
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		return nil, ioError(err)
	}
	return files, nil
}

// sourceFiles is files for a folder that must have sources.
func (b *builder) sourceFiles() ([]string, error) {
	files, err := b.files()
	if err != nil {
		return nil, err
	}
	if len(b.sources) == 0 {
		return nil, problem(millrace.ErrConfig, b.dir, "has no C++ sources (*.cc), neither in %s nor in the folder itself; millrace ops new writes a template", SourceDir)
	}
	return files, nil
}

// digest returns the digest of the files and of the compiler's arguments.
func (b *builder) digest(files []string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q\n", b.Compiler, b.Flags, b.Runtime)
	for _, name := range files {
		text, err := regularfile.ReadFile(filepath.Join(b.dir, name), regularfile.TextBytes)
		if err != nil {
			return "", ioError(err)
		}
		fmt.Fprintf(h, "%q %d\n", name, len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// build compiles the sources and the stamp.
func (b *builder) build(ctx context.Context) error {
	folder := filepath.Dir(b.Path)
	sweep(folder)
	work, err := os.MkdirTemp(folder, workPrefix)
	if err != nil {
		return ioError(err)
	}
	defer os.RemoveAll(work)
	if unlock := lock(work); unlock != nil {
		defer unlock()
	}
	stamp := filepath.Join(work, "stamp.cc")
	if err := os.WriteFile(stamp, b.stamp.Source(), 0o644); err != nil {
		return ioError(err)
	}
	compile := &cxx.Build{
		Runtime: b.Runtime, Compiler: b.Compiler, Dir: b.dir, Work: work, Says: b.Progress,
		Flags: append([]string{"-Wall", "-Wextra", "-I" + b.root()}, b.Flags...),
	}
	library := filepath.Join(work, "library.so")
	if err := compile.Library(ctx, append(slices.Clone(b.sources), stamp), library); err != nil {
		return b.failure(ctx, err)
	}
	return b.publish(library)
}

// publish gives the library its name when it is on the disk.
func (b *builder) publish(library string) error {
	f, _, err := regularfile.OpenFile(library)
	if err != nil {
		return ioError(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return ioError(err)
	}
	if err := atomicfile.Rename(library, b.Path); err != nil {
		return err
	}
	return atomicfile.SyncFolder(filepath.Dir(b.Path))
}

// workPrefix begins the names of the temporary folders of builds.
const workPrefix = ".millrace-ops-"

// lock locks a temporary folder as long as its build lives. It returns nil where folders cannot be locked.
func lock(work string) (unlock func()) {
	fd, err := unix.Open(work, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		unix.Close(fd)
		return nil
	}
	return func() { unix.Close(fd) }
}

// sweep removes the temporary folders that killed builds left. One that is locked belongs to a build.
func sweep(folder string) {
	left, err := filepath.Glob(filepath.Join(folder, workPrefix+"*"))
	if err != nil {
		return
	}
	for _, work := range left {
		if unlock := lock(work); unlock != nil {
			os.RemoveAll(work)
			unlock()
		}
	}
}

// failure returns the error of a build that failed.
func (b *builder) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return millrace.Canceled(ctx, "build of "+b.Path)
	}
	var failed *cxx.Error
	if !errors.As(err, &failed) {
		return err
	}
	b.Progress.Write(failed.Output)
	return problem(millrace.ErrConfig, b.dir, "%s does not compile: %w", strings.Join(b.sources, ", "), failed.Err)
}
