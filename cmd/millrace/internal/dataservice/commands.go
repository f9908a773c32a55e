// Package dataservice has the commands of TensorFlow's data service: dispatcher, worker and
// service status.
package dataservice

import (
	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
)

// Commands returns the commands of this package.
func Commands(c *cli.Program) []*cobra.Command {
	return []*cobra.Command{dispatcherCommand(c), workerCommand(c), serviceCommand(c)}
}
