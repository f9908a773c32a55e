// Package datasets has the commands that check, describe and read datasets: check,
// plan, graph, export-processing, state, inspect, index, convert, dump, analyze, preview, bench, shuffle, schema and
// quarantine.
package datasets

import (
	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
)

// Commands returns the commands of this package.
func Commands(c *cli.Program) []*cobra.Command {
	return []*cobra.Command{
		checkCommand(c),
		planCommand(c),
		graphCommand(c),
		exportProcessingCommand(c),
		stateCommand(c),
		explainFailureCommand(c),
		inspectCommand(c),
		indexCommand(c),
		convertCommand(c),
		dumpCommand(c),
		analyzeCommand(c),
		previewCommand(c),
		benchCommand(c),
		shuffleCommand(c),
		schemaCommand(c),
		quarantineCommand(c),
	}
}
