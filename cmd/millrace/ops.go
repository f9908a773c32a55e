package main

import (
	"github.com/spf13/cobra"
)

func (p *program) opsCommand() *cobra.Command {
	c := group(&cobra.Command{
		Use:   "ops",
		Short: "Make TensorFlow operations of your own: templates, compiling, tests",
		Long: `Make TensorFlow operations of your own, for file formats and record formats
that TensorFlow does not know. new writes a template that works, build compiles
it against the headers of the runtime, and test runs its tests.`,
		Example: `  millrace ops new myreader
  millrace ops test myreader`,
	})
	c.AddCommand(p.opsNewCommand(), p.opsBuildCommand(), p.opsTestCommand())
	return c
}
