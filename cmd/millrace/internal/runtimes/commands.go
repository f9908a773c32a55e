// Package runtimes has the command runtime and its subcommands, which install, describe
// and try the TensorFlow runtime.
package runtimes

import (
	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
)

// program is a run of millrace with the commands of this package.
type program struct{ *cli.Program }

// Command returns the command runtime.
func Command(c *cli.Program) *cobra.Command { return (&program{c}).runtimeCommand() }
