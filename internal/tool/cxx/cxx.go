// Package cxx compiles C++ sources into shared objects that TensorFlow loads:
// our own dataset operations, and those of users.
//
//	compiler, err := cxx.FindCompiler(nil)
//	b := &cxx.Build{Runtime: dir, Compiler: compiler, Dir: sources, Work: temporary}
//	err = b.Library(ctx, []string{"my_reader_dataset_op.cc"}, "my_reader.so")
package cxx

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"millrace"
	"millrace/internal/base/childproc"
	"millrace/internal/base/machine"
	"millrace/internal/base/runtimedir"
)

// compilers are the names under which a C++ compiler may be installed.
var compilers = []string{"g++", "c++", "clang++"}

// FindCompiler returns the command of the C++ compiler: want, or the first of g++, c++
// and clang++ that is installed. A missing compiler is an error of class
// millrace.ErrRuntime.
func FindCompiler(want []string) ([]string, error) {
	if len(want) > 0 {
		if _, err := exec.LookPath(want[0]); err != nil {
			return nil, millrace.Errorf(millrace.ErrRuntime, "there is no C++ compiler %s: install it, or name another one (--cxx, or the environment variable CXX)", millrace.Quote(want[0]))
		}
		return want, nil
	}
	for _, name := range compilers {
		if _, err := exec.LookPath(name); err == nil {
			return []string{name}, nil
		}
	}
	return nil, millrace.Errorf(millrace.ErrRuntime, "there is no C++ compiler (%s): install one (Debian: apt install g++)", strings.Join(compilers, ", "))
}

// CheckHeaders returns an error of class millrace.ErrRuntime if the runtime in a
// directory has no headers to compile with.
func CheckHeaders(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, runtimedir.IncludeDir, "tensorflow")); err != nil {
		e := millrace.Errorf(millrace.ErrRuntime, "has no TensorFlow headers (%s) to compile with: it was exported without them, or is not a runtime that %s made", filepath.Join(runtimedir.IncludeDir, "tensorflow"), runtimedir.Remedy)
		e.File = dir
		return e
	}
	return nil
}

// Build compiles the sources of one library.
type Build struct {
	Runtime  string   // the runtime's directory, with headers
	Compiler []string // from FindCompiler
	Flags    []string // further arguments for each source file
	Dir      string   // where the compiler runs; sources are relative to it
	Work     string   // an empty directory for objects, relative to Dir or absolute

	// Header is a header in Dir, and Uses says for which sources it is compiled once and
	// included first. "": no such header.
	Header string
	Uses   func(source string) bool

	// Says receives the output of the compiler when it succeeds, such as warnings.
	// Several goroutines call it, one at a time. nil: the output is dropped.
	Says io.Writer
	mu   sync.Mutex // held while Says is called
}

// Error is a compiler's failure.
type Error struct {
	Command string // the command line
	Output  []byte // whole output of the compiler
	Err     error
}

// Error returns the command and its exit status, without the compiler's output.
func (e *Error) Error() string { return e.Command + ": " + e.Err.Error() }

// Unwrap returns the error of the command.
func (e *Error) Unwrap() error { return e.Err }

// flags are the arguments for each source file. TensorFlow's headers are system
// headers, so the compiler does not warn about them. With -fno-semantic-interposition
// functions of the library cannot be replaced by other libraries, so calls need no
// table and may be inlined.
func (b *Build) flags() []string {
	include := filepath.Join(b.Runtime, runtimedir.IncludeDir)
	return append([]string{"-O3", "-fPIC", "-fno-semantic-interposition", "-std=c++17", "-D_GLIBCXX_USE_CXX11_ABI=1",
		"-isystem", include, "-ffile-prefix-map=" + include + "=include"}, b.Flags...)
}

// Library compiles the sources in parallel and links them. The library's path is
// relative to b.Dir, or absolute. A failure of the compiler is an *Error.
//
// The compiler sees the sources by the names given. If these are relative, and
// so is b.Work, then no directory's name gets into the library, and two builds
// give the same bytes.
//
// TensorFlow's headers take the compiler longer than a source of ours does. b.Header is
// what many sources include of them. Where its compiled form, which is b.Header with the
// ending .gch, could not be written or read, the compiler reads the header itself.
func (b *Build) Library(ctx context.Context, sources []string, path string) error {
	g, compiling := errgroup.WithContext(ctx)
	g.SetLimit(jobs(runtime.NumCPU(), machine.AvailableMemory().Bytes))
	header := make(chan struct{}) // closed when the header is compiled
	if b.Header == "" {
		close(header)
	} else {
		g.Go(func() error {
			defer close(header)
			b.run(compiling, append(b.flags(), "-x", "c++-header", b.Header, "-o", b.Header+".gch")) // without it, sources read the header
			return nil
		})
	}
	objects := make([]string, len(sources))
	for i, name := range sources {
		objects[i] = filepath.Join(b.Work, objectName(sources, i))
		if !b.uses(name) {
			g.Go(func() error { return b.run(compiling, append(b.flags(), "-c", name, "-o", objects[i])) })
		}
	}
	for i, name := range sources { // last, so that they do not wait for the header
		if b.uses(name) {
			g.Go(func() error {
				<-header
				return b.run(compiling, append(b.flags(), "-include", b.Header, "-c", name, "-o", objects[i]))
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return b.run(ctx, append(append([]string{"-shared", "-o", path}, objects...), "-Wl,-Bsymbolic-functions", b.framework()))
}

// uses reports whether a source includes the precompiled header.
func (b *Build) uses(source string) bool { return b.Header != "" && b.Uses(source) }

// objectName returns a unique name for a source's object: sources in different folders
// may have the same name.
func objectName(sources []string, i int) string {
	name := filepath.Base(sources[i])
	for _, before := range sources[:i] {
		if filepath.Base(before) == name {
			return strconv.Itoa(i) + "_" + name + ".o"
		}
	}
	return name + ".o"
}

// compileMemory is the compiler's memory for one file, mostly for TensorFlow's headers.
const compileMemory = 1200 << 20

// jobs returns the number of files to compile in parallel.
func jobs(processors int, memory int64) int {
	return int(max(1, min(int64(processors), memory/compileMemory)))
}

// framework returns the library to link with. An official tarball has it in lib.
func (b *Build) framework() string {
	path := filepath.Join(b.Runtime, runtimedir.LibraryFramework)
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join(b.Runtime, "lib", runtimedir.LibraryFramework)
	}
	return path
}

// run runs the compiler. The compiler dies with this process.
func (b *Build) run(ctx context.Context, args []string) error {
	var said bytes.Buffer
	command := append(b.Compiler[:len(b.Compiler):len(b.Compiler)], args...)
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	work := b.Work
	if !filepath.IsAbs(work) {
		work = filepath.Join(b.Dir, work)
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.Dir, &said, &said
	cmd.Env = append(cmd.Environ(), "TMPDIR="+work)
	cmd.WaitDelay = time.Second
	if err := childproc.Run(cmd); err != nil {
		return &Error{strings.Join(command, " "), said.Bytes(), err}
	}
	if b.Says != nil && said.Len() > 0 {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.Says.Write(said.Bytes())
	}
	return nil
}
