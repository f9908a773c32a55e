package datasets

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/regularfile"
	"millrace/internal/tool/output"
	"millrace/loaders"
	"millrace/loaders/portable"
)

// stateWriter is the command state.
type stateWriter struct {
	*cli.Program
	config    cli.ConfigFlags
	path      string
	batches   int64
	overwrite bool
}

// stateCommand returns the command state.
func stateCommand(p *cli.Program) *cobra.Command {
	w := &stateWriter{Program: p}
	c := &cobra.Command{
		Use:   "state CONFIG --batches N --out FILE",
		Short: "Write the state of a loader after some batches",
		Long: `Write the state that a run of a loader config has after N batches: for runs of
a graph in other processes. Runs in Go continue from it as well, and
millrace graph --state begins there.

Where records have positions, and where files are read in order, the state
follows from the number of batches, and no record is read. With buckets, chunks,
bad_records and windows of drawn sizes it depends on the data: then the batches
are read.`,
		Example: `  millrace state loader.json --seed 7 --batches 1200 --out train.state
  millrace graph loader.json --seed 7 --state train.state --out rest.pb`,
		Args: cli.Exactly("CONFIG"),
		RunE: func(c *cobra.Command, args []string) error {
			if w.path == "" || !c.Flags().Changed("batches") {
				return cli.Usagef(c, "state needs --batches N and --out FILE")
			}
			plan, err := p.Check(args[0], &w.config, nil)
			if err != nil {
				return err
			}
			return w.write(c.Context(), plan)
		},
	}
	c.Flags().Int64Var(&w.batches, "batches", 0, "batches that the run has taken: `N`")
	c.Flags().StringVarP(&w.path, "out", "o", "", "write the state to `FILE`")
	c.Flags().BoolVar(&w.overwrite, "overwrite", false, "replace FILE if it exists")
	w.config.Add(c)
	return c
}

// write writes the state.
func (w *stateWriter) write(ctx context.Context, plan *loaders.Plan) error {
	needs := cli.LoaderNeeds(plan)
	needs.Write = append(needs.Write, filepath.Dir(w.path))
	if err := w.Confine(needs); err != nil {
		return err
	}
	scan, err := w.Prepare(ctx, plan)
	if err != nil {
		return err
	}
	state, err := portable.State(plan, scan, w.batches)
	if err == nil && state == nil {
		state, err = savedAfter(ctx, plan, w.batches)
	}
	if err != nil {
		return err
	}
	return output.WriteFile(w.path, state, w.overwrite)
}

// savedAfter runs a loader for some batches, at least one, and returns its state after them.
func savedAfter(ctx context.Context, plan *loaders.Plan, batches int64) (state []byte, err error) {
	l, err := loaders.OpenPlan(plan, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	n := int64(0)
	for b, err := range l.Run(ctx, &loaders.RunOptions{SaveEvery: batches}) {
		if err != nil {
			return nil, err
		}
		if n++; n == batches {
			return bytes.Clone(b.State()), nil
		}
	}
	e := millrace.Errorf(millrace.ErrConfig, "the run has %d batches, which are fewer than %d", n, batches)
	e.Loader = plan.Path
	return nil, e
}

// mostState bounds a file with a state.
const mostState = 1 << 30

// readState reads a state.
func readState(path string) ([]byte, error) {
	state, err := regularfile.ReadFile(path, mostState)
	if err != nil {
		e := millrace.Errorf(millrace.ErrIO, "read the state: %w", err)
		e.File = path
		return nil, e
	}
	return state, nil
}
