package cli

import (
	"context"
	"fmt"
	"slices"

	"millrace"
	"millrace/loaders"
	"millrace/loaders/spec"
	"millrace/loaders/stage/window"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ConfigFlags are the flags that go with the path of a loader config.
type ConfigFlags struct {
	seed int64
	root string
	all  bool
	args []string
	mode string
	Keep []string

	Replace []spec.Replacement // as by --set, before those
	set     *pflag.FlagSet
}

// Add declares the flags.
func (f *ConfigFlags) Add(c *cobra.Command) {
	f.set = c.Flags()
	f.set.Int64Var(&f.seed, "seed", 0, "use the seed `N` instead of the config's")
	f.set.BoolVar(&f.all, "check-records", false, "compare every record with the manifest before the first batch, in a pass over the data")
	f.set.StringArrayVar(&f.args, "set", nil, "use `KEY=JSON` in place of the config's args.KEY, as in --set epochs=1; may be repeated")
	f.set.StringVar(&f.mode, "mode", "", "carry out the processing steps of `MODE`, train or eval, instead of the config's mode")
	AddDecodeLimit(f.set)
	f.set.StringVar(&f.root, "root", "", "refuse paths outside the folder `DIR`")
}

// AddKeep declares --keep; usage says what it does.
// Add declares the flags.
func (f *ConfigFlags) AddKeep(usage string) {
	f.set.StringArrayVar(&f.Keep, "keep", nil, usage)
}

// KeepToCheck is the help text of --keep in commands that run no model.
const KeepToCheck = "the config must also give the tensor `NAME`, which the model does not take; may be repeated"

// Check checks a config. It prints the warnings and returns the plan, or
// returns all problems.
func (p *Program) Check(path string, f *ConfigFlags, names *loaders.ModelNames) (*loaders.Plan, error) {
	o := &loaders.CheckOptions{Model: names, Keep: f.Keep, Root: f.root, Replace: slices.Clone(f.Replace), CheckRecords: f.all, Runtime: p.RuntimeOptions()}
	switch {
	case f.mode == spec.ModeTrain || f.mode == spec.ModeEval:
		o.Mode = f.mode
	case f.mode != "":
		return nil, millrace.Errorf(millrace.ErrConfig, "--mode is %q, want %s or %s", f.mode, spec.ModeTrain, spec.ModeEval)
	}
	if f.set.Changed("seed") {
		o.Seed = &f.seed
	}
	for _, text := range f.args {
		r, err := spec.ParseReplacement(text)
		if err != nil {
			return nil, fmt.Errorf("--set: %w", err)
		}
		o.Replace = append(o.Replace, r)
	}
	limit, err := DecodeReplacement(f.set)
	if err != nil {
		return nil, err
	}
	o.Replace = append(o.Replace, limit...)
	plan, problems := loaders.Check(path, o)
	if plan == nil {
		return nil, problems // finish prints the warnings in it along with the errors
	}
	p.PrintProblems(problems)
	return plan, nil
}

// Prepare scans the data files while TensorFlow opens in the background. It warns of
// files that are too short for a window.
func (p *Program) Prepare(ctx context.Context, plan *loaders.Plan) (*loaders.Scan, error) {
	scan, err := loaders.Prepare(ctx, plan, &loaders.Options{Runtime: p.RuntimeOptions()})
	if err != nil {
		return nil, err
	}
	for _, w := range scan.Warnings {
		p.Warn("%v", w)
	}
	// Errors in the data are reported when the loader reads it.
	if short, err := window.ShortFiles(ctx, plan.Spec, scan); err == nil && len(short) > 0 {
		p.PrintProblems(short)
	}
	return scan, nil
}

// Open opens a checked config. It scans the data files first; the context ends
// that scan.
func (p *Program) Open(ctx context.Context, plan *loaders.Plan) (*loaders.Loader, error) {
	scan, err := p.Prepare(ctx, plan)
	if err != nil {
		return nil, err
	}
	return loaders.OpenPlan(plan, &loaders.Options{Runtime: p.RuntimeOptions(), Scan: scan})
}
