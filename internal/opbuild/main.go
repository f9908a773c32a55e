// Opbuild compiles our own dataset operations to a shared object in the
// runtime's directory, and keeps the digest of their sources up to date. It
// does nothing if the shared object is already there.
//
// Usage, in the top directory:
//
//	opbuild [-runtime DIR] [-cxx COMPILER]
//	opbuild [-runtime DIR] -where runtime|library
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"millrace/internal/oplibrary"
	"millrace/internal/runtimedir"
)

const (
	sourceDir = "cgo/datasets"
	digestDir = "internal/oplibrary"
)

// options are the flags.
type options struct {
	runtime  string
	compiler string
	where    string
}

func main() {
	var o options
	flag.StringVar(&o.runtime, "runtime", "", "the runtime's `directory`; default: the one that is installed")
	flag.StringVar(&o.compiler, "cxx", "g++", "the C++ `compiler`")
	flag.StringVar(&o.where, "where", "", "compile nothing, print the directory of the `runtime`, or the path of our library")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "opbuild:", err)
		os.Exit(1)
	}
}

func (o *options) run() error {
	if o.where != "" {
		return o.print()
	}
	digest, err := oplibrary.Digest(sourceDir)
	if err != nil {
		return err
	}
	changed, err := oplibrary.WriteDigest(digestDir, digest)
	if err != nil {
		return err
	}
	if changed { // this program was compiled with the old digest
		again := exec.Command("go", append([]string{"run", "./internal/opbuild"}, os.Args[1:]...)...)
		again.Stdout, again.Stderr = os.Stdout, os.Stderr
		return again.Run()
	}
	dir, err := o.runtimeDir()
	if err != nil {
		return err
	}
	to := libraryPath(dir)
	if oplibrary.Verify(to) == nil {
		return nil
	}
	return o.build(dir, to)
}

// print prints what -where asks for.
func (o *options) print() error {
	dir, err := o.runtimeDir()
	if err != nil {
		return err
	}
	switch o.where {
	case "runtime":
		fmt.Println(dir)
	case "library":
		fmt.Println(libraryPath(dir))
	default:
		return fmt.Errorf("-where is runtime or library, not %q", o.where)
	}
	return nil
}

func libraryPath(dir string) string {
	return filepath.Join(dir, oplibrary.Folder, oplibrary.Name(runtimedir.Pinned().Version))
}

// runtimeDir returns the runtime's directory, which has the headers.
func (o *options) runtimeDir() (string, error) {
	var dirs []string
	if o.runtime != "" {
		dirs = append(dirs, o.runtime)
	} else {
		root, err := runtimedir.Root()
		if err != nil {
			return "", err
		}
		for _, variant := range []string{runtimedir.CPU, runtimedir.CUDA} {
			dirs = append(dirs, filepath.Join(root, runtimedir.Name(variant)))
		}
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, runtimedir.IncludeDir, "tensorflow")); err == nil {
			return filepath.Abs(dir)
		}
	}
	return "", fmt.Errorf("no TensorFlow headers below %s; type %s", strings.Join(dirs, " or "), runtimedir.Remedy)
}

// build compiles the sources side by side and links them.
func (o *options) build(dir, to string) error {
	sources, err := oplibrary.Sources(sourceDir)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "opbuild")
	if err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	defer os.RemoveAll(tmp)
	var objects []string
	var group errgroup.Group
	group.SetLimit(2) // TensorFlow's headers take a gigabyte each
	for _, source := range sources {
		object := filepath.Join(tmp, filepath.Base(source)+".o")
		objects = append(objects, object)
		group.Go(func() error { return o.compile(append(flags(dir), "-c", source, "-o", object)) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	// The rename makes the library appear complete or not at all.
	part := fmt.Sprintf("%s.%d.part", to, os.Getpid())
	defer os.Remove(part)
	link := append([]string{"-shared", "-o", part}, objects...)
	if err := o.compile(append(link, framework(dir))); err != nil {
		return err
	}
	if err := oplibrary.Stamp(part, to); err != nil {
		return err
	}
	if err := os.Rename(part, to); err != nil {
		return fmt.Errorf("install library: %w", err)
	}
	fmt.Println(to)
	return nil
}

func flags(dir string) []string {
	return []string{"-O3", "-fPIC", "-std=c++17", "-D_GLIBCXX_USE_CXX11_ABI=1",
		"-Wall", "-Wextra", "-Werror", "-isystem", filepath.Join(dir, runtimedir.IncludeDir)}
}

// framework returns the path of the library to link against.
func framework(dir string) string {
	path := filepath.Join(dir, runtimedir.LibraryFramework)
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join(dir, "lib", runtimedir.LibraryFramework)
	}
	return path
}

// compile runs the compiler.
func (o *options) compile(args []string) error {
	if _, err := exec.LookPath(o.compiler); err != nil {
		return fmt.Errorf("no C++ compiler %q: install one (Debian: apt install build-essential) or set CXX", o.compiler)
	}
	command := exec.Command(o.compiler, args...)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("compile %s: %w", strings.Join(args, " "), err)
	}
	return nil
}
