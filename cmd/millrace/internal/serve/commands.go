// Package serve has the command serve.
package serve

import (
	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
)

// program is a run of millrace with the commands of this package.
type program struct{ *cli.Program }

// Command returns the command serve.
func Command(c *cli.Program) *cobra.Command { return (&program{c}).serveCommand() }
