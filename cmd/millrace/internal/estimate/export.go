package estimate

import (
	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/estimator/run"
	"millrace/tfbridge"
)

func (p *program) exportCommand() *cobra.Command {
	var o run.ExportOptions
	c := &cobra.Command{
		Use:   "export RUN_DIR",
		Short: "Write a SavedModel with the trained values",
		Long: `Write a SavedModel with the signatures, functions and assets of the model that
was trained and the values of a checkpoint. Python, Keras and TensorFlow Serving
load it as they load the original. An older export is replaced in one step.`,
		Example: `  millrace export runs/first
  millrace export runs/first --checkpoint latest --out models/digits/2`,
		Args: cli.Exactly("RUN_DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := tfbridge.Open(p.RuntimeOptions()); err != nil {
				return err
			}
			done, err := run.Folder(args[0]).ExportModel(&o)
			if err != nil {
				return err
			}
			return p.Printf("%s: the model of %s\n", millrace.Quote(done.Out), done.From)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Checkpoint, "checkpoint", "", "best, latest, or the `PREFIX` of a checkpoint's files (default best, or latest where none is the best)")
	f.StringVar(&o.Out, "out", "", "the `FOLDER` to write (default RUN_DIR/export)")
	return c
}
