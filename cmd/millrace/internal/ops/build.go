package ops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/tool/ops"
)

func (p *program) opsBuildCommand() *cobra.Command {
	var path string
	var force bool
	c := &cobra.Command{
		Use:   "build DIR",
		Short: "Compile the operations of a folder",
		Long: `Compile the C++ sources of a folder against the headers of the runtime, and
print the path of the library: DIR/NAME.so, where NAME is the folder's name.
Sources are the files *.cc in DIR/cc and below, or in DIR if there is no such
folder; files *_test.cc are left out. A library that is up to date is kept.

build needs a C++ compiler and TensorFlow's headers, which runtime install
unpacks. The environment variables CXX and CXXFLAGS name another compiler, and
flags to add.`,
		Example: `  millrace ops build myreader
  CXXFLAGS='-O0 -g' millrace ops build myreader`,
		Args: cli.Exactly("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			library, err := p.buildOps(c.Context(), args[0], &ops.BuildOptions{Path: path, Force: force})
			if err != nil {
				return err
			}
			return p.Printf("%s\n", millrace.Quote(library))
		},
	}
	c.Flags().StringVarP(&path, "out", "o", "", "write the library to `FILE`")
	c.Flags().BoolVar(&force, "force", false, "compile even if the library is up to date")
	return c
}

// buildOps compiles the operations of a folder with the compiler that the
// environment names.
func (p *program) buildOps(ctx context.Context, dir string, o *ops.BuildOptions) (string, error) {
	o.Runtime, o.Progress = p.RuntimeDir, p.Stderr
	o.Compiler, o.Flags = strings.Fields(os.Getenv("CXX")), strings.Fields(os.Getenv("CXXFLAGS"))
	library, _, err := ops.Build(ctx, dir, o)
	return library, err
}

func (p *program) opsTestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test DIR [-- ARGUMENT...]",
		Short: "Compile the operations of a folder, and run its Go tests",
		Long: `Compile the operations of a folder as millrace ops build does, if it has C++
sources, and then run go test ./... there. What follows -- are arguments for go
test. A failed test is exit code 1.`,
		Example: `  millrace ops test myreader
  millrace ops test myreader -- -run TestRecords -v`,
		Args: func(c *cobra.Command, args []string) error {
			if n := c.ArgsLenAtDash(); n >= 0 {
				args = args[:n]
			}
			return cli.Exactly("DIR")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			needed, err := ops.NeedsBuild(args[0])
			if err == nil && needed {
				_, err = p.buildOps(c.Context(), args[0], &ops.BuildOptions{})
			}
			if err != nil {
				return err
			}
			o := &ops.TestOptions{Args: args[1:], Stdout: p.Stdout, Stderr: p.Stderr}
			if p.RuntimeDir != "" {
				dir, err := filepath.Abs(p.RuntimeDir)
				if err != nil {
					return err
				}
				o.Runtime = dir
			}
			err = ops.Test(c.Context(), args[0], o)
			if errors.Is(err, ops.ErrTestsFailed) {
				return cli.Silent{Err: err}
			}
			return err
		},
	}
}
