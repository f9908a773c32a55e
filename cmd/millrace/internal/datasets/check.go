package datasets

import (
	"fmt"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/figures"
	"millrace/loaders"
)

func checkCommand(p *cli.Program) *cobra.Command {
	var config cli.ConfigFlags
	var model cli.ModelFlags
	c := &cobra.Command{
		Use:   "check CONFIG",
		Short: "Find everything that is wrong with a loader config",
		Long: `Check a loader config, its manifest and its list of files, and print everything
that is wrong with them in one pass, each problem with its place:

  songs.json:14:17: args.padding[0].tensor: no tensor named "audoi"; did you mean "audio"?

With --model, also check that the config feeds every input of the model's
signature and gives no tensor that the signature does not take. The check needs
no TensorFlow. It looks up the data files and their sizes, but does not read
them.`,
		Example: `  millrace check examples/digits/predict.json
  millrace check loader.json --model examples/digits/model
  millrace check loader.json --model names.json   # {"inputs": ["x"], "outputs": ["y"]}`,
		Args: cli.Exactly("CONFIG"),
		RunE: func(c *cobra.Command, args []string) error {
			names, err := model.Names(p)
			if err != nil {
				return err
			}
			plan, err := p.Check(args[0], &config, names)
			if err != nil {
				return err
			}
			counts, err := plan.IndexedCounts(c.Context())
			if err != nil {
				return err
			}
			return p.Printf("%s\n", summary(plan, counts))
		},
	}
	config.Add(c)
	config.AddKeep(cli.KeepToCheck)
	model.Add(c, "`DIR` of a SavedModel, or a JSON file with the names of inputs and outputs")
	return c
}

// summary describes a correct config in one line, with the number of records if index
// files give it.
func summary(plan *loaders.Plan, counts *loaders.Counts) string {
	var size int64
	remote := int64(0)
	for _, f := range plan.Files {
		if f.Remote {
			remote++
			continue
		}
		size += f.Size
	}
	files := figures.Of(int64(len(plan.Files)), "file") + " (" + figures.Size(size)
	if remote > 0 {
		files += fmt.Sprintf(" and %s remote", figures.Count(remote))
	}
	if counts != nil {
		files += ", " + figures.Of(counts.Records, "record")
	}
	epochs := "epochs without end"
	if plan.Epochs > 0 {
		epochs = figures.Of(plan.Epochs, "epoch")
	}
	batch := figures.Count(plan.BatchSize)
	if plan.Chunks != nil {
		batch = figures.Of(plan.BatchSize, "frame")
	}
	return fmt.Sprintf("%s: ok: %s, %s), %s, batches of %s, %s", millrace.Quote(plan.Path), plan.Type, files,
		figures.Of(int64(len(plan.Tensors)), "tensor"), batch, epochs)
}
