package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"millrace/internal/terminal"
)

func (p *program) planCommand() *cobra.Command {
	var config configFlags
	var model modelFlags
	var dataset graphFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "plan CONFIG",
		Short: "Show how a loader config will run",
		Long: `Check a loader config and print its plan: the files, the stages in order with
the dtype and shape of every tensor, the seed, and which rewrites the optimiser
applied or skipped, and why. plan needs no TensorFlow.

With --graph, show the tf.data dataset that the config becomes instead: as it is
built and as TensorFlow runs it, with the number of elements of each stage. With
--batches, take batches and show time, elements and bytes of each stage, and
which stage holds the pipeline up.`,
		Example: `  millrace plan examples/digits/predict.json
  millrace plan loader.json --json | jq '.stages[].name'
  millrace plan loader.json --graph --batches 100 --svg pipeline.svg`,
		Args: exactly("CONFIG"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := dataset.check(); err != nil {
				return err
			}
			names, err := model.names(p)
			if err != nil {
				return err
			}
			plan, err := p.check(args[0], &config, names)
			if err != nil {
				return err
			}
			if dataset.show {
				return p.explain(c.Context(), plan, &dataset, asJSON)
			}
			if !asJSON {
				return p.printf("%s", terminal.Text(plan.Explain()))
			}
			b, err := json.MarshalIndent(plan, "", "  ")
			if err != nil {
				return err
			}
			return p.printf("%s\n", terminal.AppendJSON(nil, b))
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	dataset.add(c.Flags())
	config.add(c)
	config.addKeep(keepToCheck)
	model.add(c, "also check the config against a model: `DIR` of a SavedModel, or a JSON file of names")
	return c
}
