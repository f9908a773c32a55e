package runtimes

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/runtimedir"
	"millrace/internal/tool/install"
	"millrace/tfbridge"
)

func (p *program) runtimeInstallCommand() *cobra.Command {
	var o install.Options
	var cuda, prelink, native bool
	c := &cobra.Command{
		Use:   "install",
		Short: "Install TensorFlow's library",
		Long: `Install TensorFlow's library from TensorFlow's own wheel. pip downloads the
wheel; millrace checks it against a pinned hash and unpacks the libraries and
headers into your cache folder. A runtime that is already installed and intact
is kept. An install that is killed leaves no incomplete runtime behind.

Then install copies the libraries so that the dynamic linker need not look up
their 260,000 names each time a program starts, which more than halves the time
to the first batch. The copies take 850 MB of disk.

At last install compiles millrace's own dataset operations, once for each
version of millrace and TensorFlow. They read and decode several times as fast
as TensorFlow's. Without a C++ compiler install says so and succeeds: everything
works without them, but slower.

install needs pip, or --from, and about 1.5 GB of disk space while it unpacks.
--from also takes what millrace runtime export wrote. TensorFlow's libraries in
it are compared with the pinned hashes; its dataset operations are code that
only its own list vouches for, so take archives from people you trust.`,
		Example: `  millrace runtime install
  millrace runtime install --cuda
  millrace runtime install --from tensorflow_cpu-2.21.0-cp311-cp311-manylinux_2_27_x86_64.whl
  millrace runtime install --from runtime.tar.zst
  millrace runtime install --from /opt/libtensorflow --unpinned`,
		Args: cli.Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			if cuda {
				o.Variant = runtimedir.CUDA
			}
			o.Progress = p.Stderr
			made, err := install.Install(c.Context(), &o)
			if err != nil {
				return err
			}
			if prelink {
				if err := p.prelink(c.Context(), made.Dir); err != nil {
					return err
				}
			}
			if native {
				return p.buildOperations(c.Context(), made.Dir)
			}
			return nil
		},
	}
	f := c.Flags()
	f.BoolVar(&cuda, "cuda", false, "install the variant for NVIDIA GPUs")
	f.StringVar(&o.From, "from", "", "install from a local wheel, archive or folder: `FILE|DIR`")
	f.StringVar(&o.Dir, "dir", "", "install under `DIR` (default your cache folder)")
	f.BoolVar(&o.Force, "force", false, "install again even if an intact runtime is installed")
	f.BoolVar(&prelink, "prelink", true, "make copies of the libraries that open faster")
	f.BoolVar(&native, "native", true, "compile millrace's own dataset operations")
	f.BoolVar(&o.Unpinned, "unpinned", false, "with --from: accept libraries whose hashes are not pinned")
	return c
}

// prelink makes the copies of the libraries that open faster. If they cannot be made
// this does not fail, because the originals work as well.
func (p *program) prelink(ctx context.Context, dir string) error {
	_, err := install.Prelink(ctx, dir, &install.PrelinkOptions{Progress: p.Stderr})
	if err == nil || errors.Is(err, millrace.ErrCanceled) {
		return err
	}
	p.Note("TensorFlow's libraries are not prelinked, so each start takes longer: %v", err)
	return nil
}

// buildOperations compiles the dataset operations after an install. If they cannot be
// compiled this does not fail, because everything works without them.
func (p *program) buildOperations(ctx context.Context, dir string) error {
	o := operationsOptions()
	o.Progress = p.Stderr
	_, err := install.BuildOperations(ctx, dir, o)
	if err == nil || errors.Is(err, millrace.ErrCanceled) {
		return err
	}
	p.Note("millrace's dataset operations are not built, so reading is slower: %v", err)
	return nil
}

// operationsOptions returns the compiler that the environment names in the same
// variables as for make.
func operationsOptions() *install.OperationsOptions {
	return &install.OperationsOptions{
		Compiler: strings.Fields(os.Getenv("CXX")),
		Flags:    strings.Fields(os.Getenv("CXXFLAGS")),
	}
}

func (p *program) runtimeNativeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "native",
		Short: "Compile millrace's own dataset operations for the runtime",
		Long: `Compile millrace's own dataset operations for the runtime in use, and print the
path of the library. Its sources are part of this program. A library of these
sources that is already there and intact is kept.

native needs a C++ compiler and TensorFlow's headers, which runtime install
unpacks. The environment variables CXX and CXXFLAGS name another compiler, and
flags to add.`,
		Example: `  millrace runtime native
  CXX=clang++ millrace runtime native --runtime /opt/tensorflow`,
		Args: cli.Exactly(),
		RunE: func(c *cobra.Command, _ []string) error {
			dir, err := tfbridge.FindRuntime(p.RuntimeOptions())
			if err != nil {
				return err
			}
			o := operationsOptions()
			o.Progress = p.Stderr
			path, err := install.BuildOperations(c.Context(), dir, o)
			if err != nil {
				return err
			}
			return p.Printf("%s\n", path)
		},
	}
}
