package estimate

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/estimator/run"
	"millrace/remote"
	"millrace/sandbox"
	"millrace/tfbridge"
)

// confineExport confines the process to the run, the trained model, the checkpoint, and
// the folder in which the export is made.
func (p *program) confineExport(folder run.Folder, o *run.ExportOptions) error {
	record, err := folder.Record()
	if err != nil {
		return err
	}
	needs := &sandbox.Policy{Read: append(checkpointPaths(o.Checkpoint), string(folder))}
	if record != nil { // or else the export reports what is missing
		needs.Read = append(needs.Read, record.Model)
	}
	out := cmp.Or(o.Out, folder.Export())
	parent := filepath.Dir(out)
	if remote.IsURL(out) {
		needs.Write = append(needs.Write, out)
		return p.Confine(needs)
	}
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return millrace.Errorf(millrace.ErrIO, "make the folder of the export: %w", err)
	}
	needs.Write = append(needs.Write, parent)
	return p.Confine(needs)
}

func (p *program) exportCommand() *cobra.Command {
	var o run.ExportOptions
	c := &cobra.Command{
		Use:   "export RUN_DIR",
		Short: "Write a SavedModel with the trained values",
		Long: `Write a SavedModel with the signatures, functions and assets of the model that
was trained and the values of a checkpoint. Python, Keras and TensorFlow Serving
load it as they load the original. An older export is replaced in one step.
FOLDER may be a URL such as s3://BUCKET/MODEL/2, below which nothing is yet.`,
		Example: `  millrace export runs/first
  millrace export runs/first --checkpoint latest --out models/digits/2`,
		Args: cli.Exactly("RUN_DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			if _, err := tfbridge.Open(p.RuntimeOptions()); err != nil {
				return err
			}
			if err := p.confineExport(run.Folder(args[0]), &o); err != nil {
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
