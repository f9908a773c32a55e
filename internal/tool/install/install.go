// Package install fills the directories of runtimes: with TensorFlow's libraries
// and headers, and with our own dataset operations.
//
//	made, err := install.Install(ctx, &install.Options{Progress: os.Stderr})
//	if err != nil {
//		return err
//	}
//	library, err := install.BuildOperations(ctx, made.Dir, nil)
//
// Install downloads the pinned wheel with pip, or takes a local one, checks it,
// unpacks it into a temporary directory and renames that directory in one step.
// Export packs such a directory for another machine or an image, and Install
// with Options.From takes it from there. Whenever the process dies, a runtime, a
// library or an archive is either complete or absent.
package install

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"millrace"
	"millrace/internal/base/runtimedir"
)

// Options are the options of Install. The zero value downloads the CPU wheel into the
// user's cache directory.
type Options struct {
	// Variant is runtimedir.CPU or runtimedir.CUDA. "": CPU, or the variant of From.
	Variant string

	// From is a local wheel, an official libtensorflow tarball, an archive that
	// Export wrote, or a directory with the libraries, to install from instead
	// of downloading.
	From string

	// Unpinned accepts libraries in From whose hashes are not pinned.
	Unpinned bool

	// Dir is the directory to install under. "": runtimedir.Root.
	Dir string

	// Pip is the command to download with. nil: python3 -m pip, pip3 or pip.
	Pip []string

	// Progress gets a line for each step. nil: no progress.
	Progress io.Writer

	// Force installs even if an intact runtime is installed.
	Force bool

	pins    *runtimedir.Pins   // set by tests; nil: runtimedir.Pinned
	at      func(stage string) // set by tests, and called between the steps; nil: nothing
	machine string             // set by tests; "": runtime.GOARCH
}

// Result is an installed runtime.
type Result struct {
	*runtimedir.Installed
	Already bool // it was installed before
}

// Install makes sure that a runtime is installed. Concurrent installs into the same
// directory, also by other processes, wait for each other. Install removes the
// leftovers of a killed install.
func Install(ctx context.Context, o *Options) (*Result, error) {
	in, err := newInstaller(o)
	if err != nil {
		return nil, err
	}
	if have := in.existing(); have != nil {
		tidy(in.root)
		return in.already(have), nil
	}
	if err := runtimedir.CheckCPU(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(in.root, 0o755); err != nil {
		return nil, ioError(err)
	}
	unlock, err := lock(ctx, in.root, in.say)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if have := in.existing(); have != nil { // installed while we waited for the lock
		return in.already(have), nil
	}
	if err := sweep(in.root); err != nil {
		return nil, err
	}
	return in.install(ctx)
}

// installer is one call of Install.
type installer struct {
	Options
	root string            // Dir, made absolute
	pin  *runtimedir.Wheel // wheel to download; nil with From
	work string            // temporary directory below root
}

func newInstaller(o *Options) (*installer, error) {
	in := &installer{}
	if o != nil {
		in.Options = *o
	}
	in.defaults()
	if v := in.Variant; v != "" && v != runtimedir.CPU && v != runtimedir.CUDA {
		return nil, millrace.Errorf(millrace.ErrConfig, "no variant %s of the runtime; want %s or %s", millrace.QuoteData([]byte(v)), runtimedir.CPU, runtimedir.CUDA)
	}
	if in.From == "" {
		if err := in.choose(); err != nil {
			return nil, err
		}
	}
	root, err := in.Dir, error(nil)
	if root == "" {
		root, err = runtimedir.Root()
	}
	if err == nil {
		in.root, err = filepath.Abs(root)
	}
	return in, err
}

func (in *installer) defaults() {
	if in.pins == nil {
		in.pins = runtimedir.Pinned()
	}
	if in.at == nil {
		in.at = func(string) {}
	}
	if in.machine == "" {
		in.machine = runtime.GOARCH
	}
	if in.Progress == nil {
		in.Progress = io.Discard
	}
}

// choose chooses the wheel to download.
func (in *installer) choose() error {
	if in.Variant == "" {
		in.Variant = runtimedir.CPU
	}
	in.pin = in.pins.Wheel(in.Variant, in.machine)
	if in.pin == nil || runtime.GOOS != "linux" {
		return millrace.Errorf(millrace.ErrRuntime, "TensorFlow %s is not available as %s for %s/%s; want linux on amd64 (cpu, cuda) or arm64 (cpu), or your own build of the library (--from)", in.pins.Version, in.Variant, runtime.GOOS, in.machine)
	}
	return nil
}

// existing returns the intact runtime that makes a download unnecessary, or
// nil.
func (in *installer) existing() *runtimedir.Installed {
	if in.Force || in.From != "" {
		return nil
	}
	return in.sound(in.Variant)
}

// sound returns the runtime of a variant if it is installed and intact, nil
// otherwise.
func (in *installer) sound(variant string) *runtimedir.Installed {
	have, err := runtimedir.Read(in.target(variant))
	if err != nil || have.Verify(false) != nil {
		return nil
	}
	return have
}

// holds returns the intact runtime that was installed from src, or nil.
func (in *installer) holds(src *source) *runtimedir.Installed {
	if in.Force {
		return nil
	}
	for _, variant := range []string{runtimedir.CPU, runtimedir.CUDA} {
		if have := in.sound(variant); have != nil && src.made(have) {
			return have
		}
	}
	return nil
}

func (in *installer) already(have *runtimedir.Installed) *Result {
	in.say("%v is already installed in %s", have, millrace.Quote(have.Dir))
	return &Result{have, true}
}

// target returns the directory of a variant.
func (in *installer) target(variant string) string {
	return filepath.Join(in.root, in.pins.Version+"-"+variant)
}

// install does the work, with the lock held.
func (in *installer) install(ctx context.Context) (*Result, error) {
	work, err := os.MkdirTemp(in.root, workPrefix)
	if err != nil {
		return nil, ioError(err)
	}
	in.work = work
	defer os.RemoveAll(work)
	src, err := in.source(ctx)
	if err != nil {
		return nil, err
	}
	if have := in.holds(src); have != nil {
		return in.already(have), nil
	}
	in.at("have source")
	made, err := in.unpack(ctx, src)
	if err != nil {
		return nil, canceled(ctx, err)
	}
	in.at("unpacked")
	final := in.target(made.Variant)
	if err := publish(made.Dir, final, work); err != nil {
		return nil, err
	}
	in.at("published")
	made.Dir = final
	in.say("%v is installed in %s", made, millrace.Quote(final))
	return &Result{made, false}, nil
}

// unpack fills a new directory from src and describes it.
func (in *installer) unpack(ctx context.Context, src *source) (*runtimedir.Installed, error) {
	dir := filepath.Join(in.work, "runtime")
	t, err := newTree(dir)
	if err != nil {
		return nil, err
	}
	defer t.close()
	in.say("unpacking %s", millrace.Quote(src.name))
	if err := src.unpack(ctx, t); err != nil {
		return nil, err
	}
	made, err := in.describe(dir, src, t)
	if err != nil {
		return nil, err
	}
	return made, made.Write()
}

// say writes a line of progress.
func (in *installer) say(format string, args ...any) {
	fmt.Fprintf(in.Progress, format+"\n", args...)
}
