package datasets

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/loaders"
	"millrace/loaders/portable"
	"millrace/tfbridge"
)

// mostMessage bounds a message of TensorFlow.
const mostMessage = 1 << 20

// failureExplainer is the command explain-failure, which package millrace of python/ runs.
type failureExplainer struct {
	*cli.Program
	config cli.ConfigFlags
	code   int
}

// explainFailureCommand returns the command explain-failure.
func explainFailureCommand(p *cli.Program) *cobra.Command {
	x := &failureExplainer{Program: p}
	c := &cobra.Command{
		Use:    "explain-failure CONFIG --code N < MESSAGE",
		Short:  "Say why the graph of a loader config failed in another process",
		Hidden: true,
		Args:   cli.Exactly("CONFIG"),
		RunE: func(c *cobra.Command, args []string) error {
			message, err := io.ReadAll(io.LimitReader(c.InOrStdin(), mostMessage))
			if err != nil {
				return millrace.Errorf(millrace.ErrIO, "read the message: %w", err)
			}
			plan, err := p.Check(args[0], &x.config, nil)
			if err != nil {
				return err
			}
			return x.explain(c.Context(), plan, string(message))
		},
	}
	c.Flags().IntVar(&x.code, "code", int(tfbridge.Unknown), "TensorFlow's code of the failure: `N`")
	x.config.Add(c)
	x.config.AddKeep(cli.KeepToCheck)
	return c
}

// explain returns the error of a run here.
func (x *failureExplainer) explain(ctx context.Context, plan *loaders.Plan, message string) error {
	if err := x.Confine(cli.LoaderNeeds(plan)); err != nil {
		return err
	}
	scan, err := x.Prepare(ctx, plan)
	if err != nil {
		return err
	}
	return portable.Explain(ctx, plan, scan, tfbridge.Code(x.code), message)
}
