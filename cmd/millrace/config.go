package main

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"millrace/loaders"
)

// configFlags are the flags about a loader config, beside its path.
type configFlags struct {
	seed int64
	root string
	all  bool
	keep []string
	set  *pflag.FlagSet
}

func (f *configFlags) add(c *cobra.Command) {
	f.set = c.Flags()
	f.set.Int64Var(&f.seed, "seed", 0, "use the seed `N` in place of the config's")
	f.set.BoolVar(&f.all, "check-records", false, "look at every record before TensorFlow sees it, for data that is not trusted")
	f.set.StringVar(&f.root, "root", "", "refuse paths that lead out of the folder `DIR`")
}

// addKeep declares --keep; usage says what it does.
func (f *configFlags) addKeep(usage string) {
	f.set.StringArrayVar(&f.keep, "keep", nil, usage)
}

// keepToCheck is what --keep does for commands that run no model.
const keepToCheck = "the config must also give the tensor `NAME`, which the model does not take; may be repeated"

// check checks a config, prints its warnings, and returns the plan, or all
// that is wrong.
func (p *program) check(path string, f *configFlags, names *loaders.ModelNames) (*loaders.Plan, error) {
	o := &loaders.CheckOptions{Model: names, Keep: f.keep, Root: f.root, CheckRecords: f.all, Runtime: p.runtimeOptions()}
	if f.set.Changed("seed") {
		o.Seed = &f.seed
	}
	plan, problems := loaders.Check(path, o)
	if plan == nil {
		return nil, problems // warnings among them are printed with the errors
	}
	p.printProblems(problems)
	return plan, nil
}

// prepare looks at the data files while TensorFlow is being opened, and prints
// which of them are too short for a window.
func (p *program) prepare(ctx context.Context, plan *loaders.Plan) (*loaders.Scan, error) {
	scan, err := loaders.Prepare(ctx, plan, &loaders.Options{Runtime: p.runtimeOptions()})
	if err != nil {
		return nil, err
	}
	// A fault in the data is told when the data is read.
	if short, err := plan.ShortFiles(ctx, scan); err == nil && len(short) > 0 {
		p.printProblems(short)
	}
	return scan, nil
}

// open opens a checked config. The look at the data files that comes first
// ends with the context.
func (p *program) open(ctx context.Context, plan *loaders.Plan) (*loaders.Loader, error) {
	scan, err := p.prepare(ctx, plan)
	if err != nil {
		return nil, err
	}
	return loaders.OpenPlan(plan, &loaders.Options{Runtime: p.runtimeOptions(), Scan: scan})
}
