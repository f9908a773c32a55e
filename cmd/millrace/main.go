// Command millrace runs TensorFlow input pipelines and models.
//
// Each family of subcommands is a package below internal, with a file for each
// subcommand, which parses flags and prints. The packages of the module do the
// work.
package main

import "millrace/cmd/millrace/internal/cli"

func main() {
	p := cli.NewProgram()
	cli.Main(p, root(p))
}
