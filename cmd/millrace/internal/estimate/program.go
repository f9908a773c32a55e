package estimate

import "millrace/cmd/millrace/internal/cli"

// program is a run of millrace with the commands of this package.
type program struct{ *cli.Program }
