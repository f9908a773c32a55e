package datasets

import (
	"context"

	"github.com/spf13/cobra"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/tool/mixing"
)

// shuffleFlags are the flags of shuffle.
type shuffleFlags struct {
	config cli.ConfigFlags
	report bool
	json   bool
	all    bool
}

func shuffleCommand(p *cli.Program) *cobra.Command {
	var flags shuffleFlags
	c := &cobra.Command{
		Use:   "shuffle CONFIG --report",
		Short: "Measure how well a loader config mixes the records of its files",
		Long: `Find out in which order a loader config of type independent delivers the
records of its first epoch, and compare that with a uniformly drawn order of the
same records, as shuffle_mode exact gives it. --report prints:

  the distance of neighbours: how many records apart two records that follow
  each other are in the files

  the correlation with the order in the file: 1 if the records of a file come
  in the order of the file, near 0 if they are shuffled well

  the distance of file shares, batch from epoch: 0 if every batch has as much
  of each file as the epoch has, near 1 if each batch has one of many files

  for each file, its share of the epoch, and its lowest and highest share of a
  batch

shuffle reads the headers of records only. A config that shuffles in buffers
needs TensorFlow, and 40 bytes for each record in the folder for temporary
files. Records that args.bad_records leaves out count as well.`,
		Example: `  millrace shuffle examples/digits/train.json --report
  millrace shuffle loader.json --report --seed 7
  millrace shuffle loader.json --report --json | jq .config`,
		Args: cli.Exactly("CONFIG"),
		RunE: func(c *cobra.Command, args []string) error {
			if !flags.report {
				return cli.Usagef(c, "nothing to do: shuffle needs --report")
			}
			return shuffle(c.Context(), p, args[0], &flags)
		},
	}
	flags.config.Add(c)
	f := c.Flags()
	f.BoolVar(&flags.report, "report", false, "print how well the config mixes")
	f.BoolVar(&flags.json, "json", false, "print JSON, with every file")
	f.BoolVar(&flags.all, "all", false, "list every file")
	return c
}

// shuffle measures and prints.
func shuffle(ctx context.Context, p *cli.Program, config string, flags *shuffleFlags) error {
	plan, err := p.Check(config, &flags.config, nil)
	if err != nil {
		return err
	}
	if err := p.Confine(cli.LoaderNeeds(plan)); err != nil {
		return err
	}
	report, err := mixing.Measure(ctx, plan, p.RuntimeOptions())
	if err != nil {
		return err
	}
	for _, w := range report.Warnings {
		p.Warn("%v", w)
	}
	if flags.json {
		return p.PrintJSON(report)
	}
	return cli.StdoutError(report.WriteText(p.Stdout, flags.all))
}
