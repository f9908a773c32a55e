package datasets

import (
	"context"

	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/figures"
	"millrace/internal/base/terminal"
	"millrace/loaders"
)

func planCommand(p *cli.Program) *cobra.Command {
	var config cli.ConfigFlags
	var model cli.ModelFlags
	var dataset graphFlags
	var asJSON, hash bool
	c := &cobra.Command{
		Use:   "plan CONFIG",
		Short: "Show how a loader config will run",
		Long: `Check a loader config and print its plan: the files, the stages in order with
the dtype and shape of every tensor, the seed, and which rewrites the optimiser
applied or skipped, and why. Where every file has an index that fits it (see
millrace index), plan also shows how many records and batches an epoch has. plan
needs no TensorFlow.

With --graph, show the tf.data dataset that the config becomes instead: as it is
built and as TensorFlow runs it, with the number of elements of each stage. With
--batches, take batches and show time, elements and bytes of each stage, and
which stage holds the pipeline up.

With --order-hash, read an epoch and print a digest of which records stand in
which batch of it: two runs that print the same see the same data in the same
order, with any engine, in Go and in Python.`,
		Example: `  millrace plan examples/digits/predict.json
  millrace plan loader.json --json | jq '.stages[].name'
  millrace plan loader.json --graph --batches 100 --svg pipeline.svg`,
		Args: cli.Exactly("CONFIG"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := dataset.check(); err != nil {
				return err
			}
			names, err := model.Names(p)
			if err != nil {
				return err
			}
			plan, err := p.Check(args[0], &config, names)
			if err != nil {
				return err
			}
			if hash {
				return printOrderHash(c.Context(), p, plan, asJSON)
			}
			if dataset.show {
				return explain(c.Context(), p, plan, &dataset, asJSON)
			}
			counts, err := plan.IndexedCounts(c.Context())
			if err != nil {
				return err
			}
			if !asJSON {
				return p.Printf("%s%s", terminal.Text(plan.Explain()), countsText(counts))
			}
			return p.PrintJSON(countedPlan{plan.Explanation(), counts})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&hash, "order-hash", false, "print a digest of which records stand in which batch of the first epoch")
	dataset.add(c.Flags())
	config.Add(c)
	config.AddKeep(cli.KeepToCheck)
	model.Add(c, "also check the config against a model: `DIR` of a SavedModel, or a JSON file of names")
	return c
}

// countedPlan is a plan with the amount of data that it reads, as JSON.
type countedPlan struct {
	*loaders.Explanation
	Data *loaders.Counts `json:"data,omitempty"`
}

// countsText describes the amount of data that an epoch reads, "" if it was not
// counted.
func countsText(c *loaders.Counts) string {
	if c == nil {
		return ""
	}
	text := "\ndata of an epoch\n  " + figures.Of(c.Records, "record")
	if c.Records < c.AllRecords {
		text += " of " + figures.Count(c.AllRecords)
	}
	if c.Batches >= 0 {
		text += ", " + figures.Plural(c.Batches, "batch", "batches")
	}
	return text + "; all records take " + figures.Size(c.Bytes) + "\n"
}

// printOrderHash prints the digest of the order of a plan.
func printOrderHash(ctx context.Context, p *cli.Program, plan *loaders.Plan, asJSON bool) error {
	if err := p.Confine(cli.LoaderNeeds(plan)); err != nil {
		return err
	}
	scan, err := p.Prepare(ctx, plan)
	if err != nil {
		return err
	}
	hash, err := loaders.OrderHash(ctx, plan, scan)
	if err != nil {
		return err
	}
	if asJSON {
		return p.PrintJSON(struct {
			Hash string `json:"order_hash"`
		}{hash})
	}
	return p.Printf("%s\n", hash)
}
