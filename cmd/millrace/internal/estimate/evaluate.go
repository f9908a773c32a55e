package estimate

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
	"millrace/estimator/metrics"
	"millrace/estimator/run"
	"millrace/internal/base/figures"
)

// evaluateFlags are the flags of evaluate.
type evaluateFlags struct {
	dir        string
	checkpoint string
	watch      bool
	json       bool
}

func (p *program) evaluateCommand() *cobra.Command {
	var flags evaluateFlags
	c := &cobra.Command{
		Use:   "evaluate RUN.json --dir RUN_DIR",
		Short: "Evaluate a checkpoint of a training, or each new one",
		Long: `Evaluate a checkpoint as the run config's evaluate says, and print the metrics.

With --watch this process is the evaluator of a training that another process
does: it evaluates each new checkpoint once, until the training is finished. It
works as well when the training has ended already. The folder is only read.`,
		Example: `  millrace evaluate run.json --dir runs/first
  millrace evaluate run.json --dir runs/first --checkpoint best --json
  millrace evaluate run.json --dir runs/first --watch`,
		Args: cli.Exactly("RUN.json"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case flags.dir == "":
				return cli.Usagef(c, "--dir is missing")
			case flags.watch && flags.checkpoint != "":
				return cli.Usagef(c, "--watch evaluates each new checkpoint; leave out --checkpoint")
			}
			return p.evaluate(c.Context(), args[0], &flags)
		},
	}
	f := c.Flags()
	f.StringVar(&flags.dir, "dir", "", "the `FOLDER` of the run, or its URL")
	f.StringVar(&flags.checkpoint, "checkpoint", "", "latest, best, or the `PREFIX` of a checkpoint's files, Millrace's or Python's (default latest)")
	f.BoolVar(&flags.watch, "watch", false, "evaluate each new checkpoint, until the training is finished")
	f.BoolVar(&flags.json, "json", false, "print a JSON object for each evaluation")
	return c
}

// evaluation is the JSON form of an evaluation. Its keys are part of the
// interface.
type evaluation struct {
	Step           int64                    `json:"step"`
	Metrics        map[string]metrics.Value `json:"metrics"`
	Examples       int64                    `json:"examples"`
	Seconds        float64                  `json:"seconds"`
	ExamplesPerSec float64                  `json:"examples_per_s"`
}

// evaluate evaluates.
func (p *program) evaluate(ctx context.Context, config string, flags *evaluateFlags) error {
	settings := deterministic()
	p.Warm()
	r, problems, err := run.Open(config, flags.dir, &run.Options{Runtime: p.RuntimeOptions(), Settings: settings})
	if err != nil {
		return err
	}
	p.PrintProblems(problems)
	needs := cli.LoaderNeeds(r.TrainPlan, r.EvaluatePlan)
	needs.Read = append(needs.Read, append(checkpointPaths(flags.checkpoint), r.ModelDir, r.Path, cli.Expected(flags.dir))...)
	if err := p.Confine(needs); err != nil {
		return err
	}
	return r.Evaluate(ctx, &run.EvaluateOptions{
		Checkpoint: flags.checkpoint, Watch: flags.watch,
		Note: func(text string) { p.Note("%s", text) },
		Evaluated: func(e *run.Evaluated) error {
			if !flags.json {
				return p.Printf("%s: %s:%s\n%s", e.Name, figures.Of(e.Examples, "example"), metricText(e.Evaluation), classText(e.Evaluation))
			}
			text, err := json.Marshal(&evaluation{e.Step, e.Values, e.Examples, e.Duration.Seconds(), figures.Rate(e.Examples, e.Duration)})
			if err != nil {
				return err
			}
			return p.Printf("%s\n", text)
		},
	})
}
