// Package estimate has the commands that run a model over a dataset: predict, train,
// evaluate,
// export and report.
package estimate

import (
	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
)

// Commands returns the commands of this package.
func Commands(c *cli.Program) []*cobra.Command {
	p := &program{c}
	return []*cobra.Command{
		p.predictCommand(),
		p.trainCommand(),
		p.evaluateCommand(),
		p.exportCommand(),
		p.reportCommand(),
	}
}
