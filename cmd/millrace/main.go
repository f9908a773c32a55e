// Command millrace runs TensorFlow input pipelines and models.
//
// Each family of subcommands is a package below internal, with a file for each
// subcommand, which parses flags and prints. The packages of the module do the
// work.
package main

import (
	"os"

	"millrace/cmd/millrace/internal/cli"
	"millrace/cmd/millrace/internal/serve"
)

func main() {
	cli.RegisterStores(os.Getenv)
	p := cli.NewProgram()
	cli.Main(p, root(p), serve.Arguments(os.Args, os.Getenv))
}
