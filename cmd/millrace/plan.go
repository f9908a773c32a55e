package main

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"millrace/internal/terminal"
)

func (p *program) planCommand() *cobra.Command {
	var config configFlags
	var model modelFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "plan CONFIG",
		Short: "Show what a loader config comes down to",
		Long: `Check a loader config and print the plan that it comes down to: the files, the
stages in order with dtype and shape of every tensor, the seed, and what the
optimiser rewrote or left alone, and why. No TensorFlow is needed.`,
		Example: `  millrace plan examples/digits/predict.json
  millrace plan loader.json --json | jq '.stages[].name'`,
		Args: exactly("CONFIG"),
		RunE: func(c *cobra.Command, args []string) error {
			names, err := model.names(p)
			if err != nil {
				return err
			}
			plan, err := p.check(args[0], &config, names)
			if err != nil {
				return err
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
	config.add(c)
	config.addKeep(keepToCheck)
	model.add(c, "check against the model too: `DIR` of a SavedModel, or a JSON file of names")
	return c
}
