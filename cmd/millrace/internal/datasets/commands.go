// Package datasets is the commands that check, describe and read datasets: check, plan,
// inspect, index, convert, dump, bench, shuffle, schema and quarantine.
package datasets

import (
	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
)

// Commands returns the commands of this package.
func Commands(c *cli.Program) []*cobra.Command {
	p := &program{c}
	return []*cobra.Command{
		p.checkCommand(),
		p.planCommand(),
		p.inspectCommand(),
		p.indexCommand(),
		p.convertCommand(),
		p.dumpCommand(),
		p.benchCommand(),
		p.shuffleCommand(),
		p.schemaCommand(),
		p.quarantineCommand(),
	}
}
