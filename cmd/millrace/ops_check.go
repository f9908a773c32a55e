package main

import (
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"millrace/internal/ops"
)

func (p *program) opsTestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "test DIR [-- ARGUMENT...]",
		Short: "Compile the operations of a folder, and run its Go tests",
		Long: `Compile the operations of a folder as millrace ops build does, and then run
go test ./... there. What follows -- are arguments for go test. A failed test is
exit code 1.`,
		Example: `  millrace ops test myreader
  millrace ops test myreader -- -run TestRecords -v`,
		Args: func(c *cobra.Command, args []string) error {
			if n := c.ArgsLenAtDash(); n >= 0 {
				args = args[:n]
			}
			return exactly("DIR")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := p.buildOps(c.Context(), args[0], &ops.BuildOptions{}); err != nil {
				return err
			}
			o := &ops.TestOptions{Args: args[1:], Stdout: p.stdout, Stderr: p.stderr}
			if p.runtimeDir != "" {
				dir, err := filepath.Abs(p.runtimeDir)
				if err != nil {
					return err
				}
				o.Runtime = dir
			}
			err := ops.Test(c.Context(), args[0], o)
			if errors.Is(err, ops.ErrTestsFailed) {
				return silent{err}
			}
			return err
		},
	}
}
