// Package ops has the command ops and its subcommands, which make TensorFlow
// operations.
package ops

import (
	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
)

// program is a run of millrace with the commands of this package.
type program struct{ *cli.Program }

// Command returns the command ops.
func Command(c *cli.Program) *cobra.Command { return (&program{c}).opsCommand() }
