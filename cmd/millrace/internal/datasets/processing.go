package datasets

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/loaders/portable"
	"millrace/loaders/spec"
)

// exportProcessingCommand returns the command export-processing.
func exportProcessingCommand(p *cli.Program) *cobra.Command {
	var config cli.ConfigFlags
	var o portable.ProcessingOptions
	c := &cobra.Command{
		Use:   "export-processing CONFIG DIR",
		Short: "Write the processing steps of a loader config as a SavedModel",
		Long: `Write what a loader config does to examples, in mode eval unless --mode says
otherwise, as a SavedModel in the folder DIR. It has two signatures:

  serving_default   the values of the features, such as the bytes of an image
  examples          serialized Examples

Both give the tensors of the loader. With --model they give the outputs of the
model instead. TensorFlow Serving, Python and millrace serve load the folder. It
has no operations of Millrace, so bytes are decoded without its checks, except
by millrace.

Only features are asked for that the tensors need: with --model no label.
Filters keep all examples. Random steps are an error.`,
		Example: `  millrace export-processing loader.json steps
  millrace export-processing loader.json served/1 --model runs/a/export
  millrace serve --model flowers=served`,
		Args: cli.Exactly("CONFIG", "DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.Signature != "" && o.Model == "" {
				return cli.Usagef(c, "--signature needs --model DIR")
			}
			if !c.Flags().Changed("mode") {
				if err := c.Flags().Set("mode", spec.ModeEval); err != nil {
					return err
				}
			}
			plan, err := p.Check(args[0], &config, nil)
			if err != nil {
				return err
			}
			needs := cli.LoaderNeeds(plan)
			needs.Write = append(needs.Write, filepath.Dir(args[1]))
			if o.Model != "" {
				needs.Read = append(needs.Read, o.Model)
			}
			if err := p.Confine(needs); err != nil {
				return err
			}
			if err := portable.WriteProcessing(plan, args[1], &o); err != nil {
				return err
			}
			p.Note("%s: signatures %s and %s", millrace.Quote(args[1]), portable.ValuesSignature, portable.RecordsSignature)
			return nil
		},
	}
	c.Flags().StringVar(&o.Model, "model", "", "join the steps with the SavedModel in `DIR`")
	c.Flags().StringVar(&o.Signature, "signature", "", "the signature `KEY` of the model (default serving_default)")
	c.Flags().StringArrayVar(&o.Tensors, "tensor", nil, "give the tensor `NAME`; may be repeated (default all, with --model its inputs)")
	config.Add(c)
	return c
}
