package runtimes

import (
	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/tool/install"
	"millrace/tfbridge"
)

func (p *program) runtimeExportCommand() *cobra.Command {
	var o install.ExportOptions
	c := &cobra.Command{
		Use:   "export FILE|DIR",
		Short: "Copy the runtime for an image, or a machine without network or compiler",
		Long: `Copy the runtime in use, with millrace's own dataset operations if they are
built, to an archive (FILE ends in .tar, .tar.gz or .tar.zst) or a new folder.

  An archive goes to a machine without network or compiler:
  millrace runtime install --from FILE. It lists its files with their SHA-256.
  A folder goes into an image: set MILLRACE_RUNTIME to where it is there.

export hashes the libraries and refuses a runtime that has changed since it was
installed. The same runtime gives the same bytes. An export that is killed
leaves nothing under the name FILE or DIR.`,
		Example: `  millrace runtime export runtime.tar.zst
  millrace runtime export --headers runtime.tar
  millrace runtime export /image/opt/tensorflow`,
		Args: cli.Exactly("FILE|DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			dir, err := tfbridge.FindRuntime(p.RuntimeOptions())
			if err != nil {
				return err
			}
			o.Progress = p.Stderr
			return install.Export(c.Context(), dir, args[0], &o)
		},
	}
	f := c.Flags()
	f.BoolVar(&o.Headers, "headers", false, "add TensorFlow's headers (290 MB), to compile operations there")
	f.BoolVar(&o.Overwrite, "overwrite", false, "replace an existing FILE")
	return c
}
