package ops

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
)

func (p *program) opsCommand() *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "ops",
		Short: "Make TensorFlow operations of your own: templates, compiling, tests",
		Long: `Make TensorFlow operations of your own, for file formats and record formats
that TensorFlow does not know. new writes a template that works, build compiles
it against the headers of the runtime, and test runs its tests. info shows what
a library registers, and wrap writes Go functions for it.`,
		Example: `  millrace ops new myreader
  millrace ops test myreader
  millrace ops info myreader/myreader.so`,
	})
	c.AddCommand(p.opsNewCommand(), p.opsBuildCommand(), p.opsTestCommand(), p.opsInfoCommand(), p.opsWrapCommand())
	return c
}

// inFolder returns the path of a library with a folder. The dynamic linker would
// look for a bare name in the folders of the system.
func inFolder(path string) string {
	if filepath.Base(path) == path {
		return "." + string(filepath.Separator) + path
	}
	return path
}
