package install

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"millrace"
	"millrace/cgo"
	"millrace/internal/base/atomicfile"
	"millrace/internal/base/oplibrary"
	"millrace/internal/base/runtimedir"
	"millrace/internal/tool/cxx"
)

// OperationsOptions are the options for compiling the library of our own dataset
// operations. The zero value suits most callers.
type OperationsOptions struct {
	// Compiler is the C++ compiler, with arguments that always come first. Nil:
	// the first of g++, c++ and clang++ that is installed.
	Compiler []string

	// Flags are further arguments for each source file.
	Flags []string

	// Progress gets a line for each step. nil: no progress.
	Progress io.Writer

	sources fs.FS // set by tests; nil: the embedded ones
}

// BuildOperations makes sure that the runtime in a directory has the library of our own
// dataset operations, and returns the library's path. It compiles the embedded sources
// unless there is an intact library of these sources. The library appears complete or
// not at all, and concurrent calls wait for each other, also in other processes.
//
// Compiling takes a compiler, the runtime's headers, and about a gigabyte of
// memory for each of up to as many processes as there are processors.
func BuildOperations(ctx context.Context, dir string, o *OperationsOptions) (path string, err error) {
	b := &opBuilder{dir: dir}
	if o != nil {
		b.OperationsOptions = *o
	}
	if b.sources == nil {
		b.sources = cgo.Datasets()
	}
	if b.Progress == nil {
		b.Progress = io.Discard
	}
	path = filepath.Join(dir, oplibrary.Folder, oplibrary.Name(runtimedir.Pinned().Version))
	if oplibrary.Verify(path) == nil {
		tidy(filepath.Dir(path))
		return path, nil
	}
	if err := oplibrary.CheckSources(b.sources); err != nil {
		return "", err
	}
	if b.compiler, err = cxx.FindCompiler(b.Compiler); err == nil {
		err = b.ready()
	}
	if err != nil {
		return "", err
	}
	return path, canceled(ctx, b.build(ctx, path))
}

// CanBuildOperations returns an error if BuildOperations cannot build the library for
// the runtime in a directory: because the compiler or the headers are missing, or the
// directory cannot be written.
func CanBuildOperations(dir string, o *OperationsOptions) error {
	b := &opBuilder{dir: dir}
	if o != nil {
		b.OperationsOptions = *o
	}
	if err := b.ready(); err != nil {
		return err
	}
	_, err := cxx.FindCompiler(b.Compiler)
	return err
}

// opBuilder is one call of BuildOperations.
type opBuilder struct {
	OperationsOptions
	dir      string   // directory of the runtime
	compiler []string // the one found
	work     string   // temporary directory in the library's folder
}

// ready returns an error if this directory cannot get a library, whatever the compiler.
func (b *opBuilder) ready() error {
	if err := cxx.CheckHeaders(b.dir); err != nil {
		return err
	}
	folder := filepath.Join(b.dir, oplibrary.Folder)
	if _, err := os.Stat(folder); err != nil {
		folder = b.dir
	}
	if err := unix.Access(folder, unix.W_OK); err != nil {
		return problem(millrace.ErrIO, folder, "cannot be written: %w", err)
	}
	return nil
}

// build compiles with the lock held.
func (b *opBuilder) build(ctx context.Context, path string) error {
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return ioError(err)
	}
	unlock, err := lock(ctx, folder, b.say)
	if err != nil {
		return err
	}
	defer unlock()
	if oplibrary.Verify(path) == nil { // built while we waited for the lock
		return nil
	}
	if err := sweep(folder); err != nil {
		return err
	}
	if b.work, err = os.MkdirTemp(folder, workPrefix); err != nil {
		return ioError(err)
	}
	defer os.RemoveAll(b.work)
	b.say("compiling millrace's dataset operations, a few minutes, once")
	made, err := b.compile(ctx)
	if err != nil {
		return err
	}
	if err := publishOperations(made, path); err != nil {
		return err
	}
	b.say("millrace's dataset operations are in %s", millrace.Quote(path))
	return nil
}

// publishOperations gives the library its name, after its checksum.
func publishOperations(made, path string) error {
	if err := oplibrary.Stamp(made, path); err != nil {
		return ioError(err)
	}
	if err := flush(filepath.Dir(path)); err != nil {
		return ioError(err)
	}
	return atomicfile.Rename(made, path)
}

// say writes a line of progress.
func (b *opBuilder) say(format string, args ...any) {
	fmt.Fprintf(b.Progress, format+"\n", args...)
}
