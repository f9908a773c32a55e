package datasets

import (
	"context"
	"path/filepath"

	"github.com/spf13/pflag"

	"millrace"
	"millrace/cmd/millrace/internal/cli"
	"millrace/estimator/checkpoint"
	"millrace/internal/base/terminal"
	"millrace/loaders"
)

// graphFlags are the flags of plan that show the dataset.
type graphFlags struct {
	show    bool
	batches int64
	picture string
}

func (f *graphFlags) add(set *pflag.FlagSet) {
	set.BoolVar(&f.show, "graph", false, "show the dataset as TensorFlow builds and runs it, stage by stage")
	set.Int64Var(&f.batches, "batches", 0, "with --graph: take `N` batches and show what each stage cost; -1: an epoch")
	set.StringVar(&f.picture, "svg", "", "with --graph: also write a picture to `FILE`, for a browser")
}

// check refuses flags that have no effect without --graph.
func (f *graphFlags) check() error {
	switch {
	case f.batches < -1:
		return millrace.Errorf(millrace.ErrConfig, "--batches is %d, must be -1 (an epoch) or more", f.batches)
	case !f.show && (f.batches != 0 || f.picture != ""):
		return millrace.Errorf(millrace.ErrConfig, "--batches and --svg need --graph")
	}
	return nil
}

// explain prints the dataset of a plan, and writes its picture.
func explain(ctx context.Context, p *cli.Program, plan *loaders.Plan, f *graphFlags, asJSON bool) error {
	needs := cli.LoaderNeeds(plan)
	if f.picture != "" {
		needs.Write = append(needs.Write, filepath.Dir(f.picture))
	}
	if err := p.Confine(needs); err != nil {
		return err
	}
	scan, err := p.Prepare(ctx, plan)
	if err != nil {
		return err
	}
	e, err := loaders.Explain(ctx, plan, scan, f.batches)
	if err != nil {
		return err
	}
	if f.picture != "" {
		if err := checkpoint.WriteFile(f.picture, e.SVG()); err != nil {
			return err
		}
	}
	if !asJSON {
		return p.Printf("%s", terminal.Text(e.Text()))
	}
	return p.PrintJSON(e)
}
