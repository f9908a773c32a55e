package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"millrace"
	"millrace/dtype"
	"millrace/estimator"
	"millrace/internal/figures"
	"millrace/internal/output"
	"millrace/loaders"
	"millrace/loaders/diag"
)

// predictFlags are the flags of predict.
type predictFlags struct {
	config    configFlags
	model     modelFlags
	keep      []string
	out       string
	overwrite bool
}

func (p *program) predictCommand() *cobra.Command {
	var flags predictFlags
	c := &cobra.Command{
		Use:   "predict CONFIG --model DIR --out FILE",
		Short: "Run a model over a dataset and write its outputs",
		Long: `Run a SavedModel's signature over the batches of a loader config and write its
outputs, one row a record, in the order of the records. The pipeline is joined
to the model's graph: data goes from disk to the model without a detour.

The extension of --out chooses the format:
  .ndjson, .jsonl  one JSON object a record: {"digit":3,"scores":[0.1,0.9]};
                   nested arrays; "NaN", "Infinity", "-Infinity" for what JSON
                   has no number for; strings as base64 of their bytes
  .tfrecord        one tf.Example a record, flat lists: integers and bools as
                   int64, floats as float (float64 rounded), strings as bytes
  .npz             NumPy arrays, one a tensor; strings of fixed width; rows
                   must have one shape; needs room for the output twice
  .parquet         a column a tensor, nested lists for the dimensions of a row
bfloat16 becomes float32 in .npz and .parquet. --out - writes NDJSON to standard
output.

The file is written under a temporary name and renamed when it is whole. If
anything goes wrong, or on SIGINT and SIGTERM, nothing is left behind; a second
signal ends the process at once.

A model is a program. Operations that touch files or the network are refused
unless --allow-op names them; that is no sandbox.`,
		Example: `  millrace predict examples/digits/predict.json --model examples/digits/model --out digits.ndjson
  millrace predict loader.json --model model --keep label --out scores.parquet
  millrace predict loader.json --model model --signature encode --out - | head -3`,
		Args: exactly("CONFIG"),
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case flags.model.path == "":
				return usagef(c, "--model is missing")
			case flags.out == "":
				return usagef(c, "--out is missing")
			}
			return p.predict(c.Context(), args[0], &flags)
		},
	}
	flags.config.add(c)
	flags.model.add(c, "`DIR` of a SavedModel")
	f := c.Flags()
	f.StringArrayVar(&flags.keep, "keep", nil, "also write the loader's tensor `NAME`; may be repeated")
	f.StringVar(&flags.out, "out", "", "`FILE` to write, or - for standard output")
	f.BoolVar(&flags.overwrite, "overwrite", false, "replace FILE if it is there")
	return c
}

// predict checks what can be checked at once, before the model is loaded.
func (p *program) predict(ctx context.Context, config string, flags *predictFlags) error {
	p.warm()
	names, err := estimator.ReadNames(flags.model.path, flags.model.options(p))
	if err != nil {
		return err
	}
	if err := flags.checkKeep(config, names); err != nil {
		return err
	}
	fed := *names // what is kept is used, as a model's labels are
	fed.Outputs = slices.Concat(names.Outputs, flags.keep)
	plan, err := p.check(config, &flags.config, &fed)
	if err != nil {
		return err
	}
	if plan.Epochs == 0 && flags.out != output.Stdout {
		e := millrace.Errorf(millrace.ErrConfig, "null has no end, and the output would never be whole; give a number, or --out -")
		e.File, e.Key = plan.Path, "args.epochs"
		return e
	}
	out, err := output.Create(flags.out, &output.Options{
		Overwrite: flags.overwrite, Inputs: inputs(plan, flags.model.path), Stdout: p.predictions(),
		Note: func(msg string) { p.note("%s", msg) },
	})
	if err != nil {
		return err
	}
	defer out.Close()
	if flags.out != output.Stdout {
		p.unfinished.Store(millrace.Quote(flags.out))
	}
	m := p.newMeter("predict")
	defer m.stop()
	if err := p.predictTo(ctx, plan, flags, out, m); err != nil {
		return err
	}
	elapsed := m.stop()
	fmt.Fprintf(p.stderr, "%s: %s in %s, %s records/s, %s\n", outName(flags.out), figures.Of(out.Rows(), "record"),
		figures.Seconds(elapsed), figures.Count(int64(figures.Rate(out.Rows(), elapsed))), figures.Size(out.Bytes()))
	return nil
}

// predictTo loads the model and runs it.
func (p *program) predictTo(ctx context.Context, plan *loaders.Plan, flags *predictFlags, out *output.File, m *meter) error {
	scan, err := p.prepare(ctx, plan)
	if err != nil {
		return err
	}
	model, err := estimator.LoadModel(flags.model.path, flags.model.options(p))
	if err != nil {
		return err
	}
	defer model.Close()
	out.Expect(expected(plan, model, flags.keep))
	rows, _ := plan.Rows(scan) // 0 if that is not known
	m.start(rows)
	var cols []output.Column
	for batch, err := range model.Predict(ctx, plan, &estimator.PredictOptions{Keep: flags.keep, Scan: scan}) {
		if err != nil {
			return err
		}
		if cols, err = columns(cols, batch); err != nil {
			return err
		}
		if err := out.Write(cols); err != nil {
			return err
		}
		m.add(batch.Rows())
	}
	return out.Commit()
}

// checkKeep reports names of --keep that the loader does not have, or that
// are the model's. A config with problems of its own passes: they are found
// next.
func (f *predictFlags) checkKeep(config string, names *loaders.ModelNames) error {
	if len(f.keep) == 0 {
		return nil
	}
	plan, _ := loaders.Check(config, &loaders.CheckOptions{Root: f.config.root})
	if plan == nil {
		return nil
	}
	var have []string
	for _, t := range plan.Tensors {
		have = append(have, t.Name)
	}
	for i, name := range f.keep {
		switch {
		case !slices.Contains(have, name):
			msg := fmt.Sprintf("--keep %s: the loader has no tensor of this name", millrace.Quote(name))
			if hint := diag.DidYouMean(name, have); hint != "" {
				msg += "; " + hint
			}
			return millrace.Errorf(millrace.ErrConfig, "%s", msg)
		case slices.Contains(f.keep[:i], name):
			return millrace.Errorf(millrace.ErrConfig, "--keep %s: given twice", millrace.Quote(name))
		case slices.Contains(names.Outputs, name):
			return millrace.Errorf(millrace.ErrConfig, "--keep %s: the model has an output of this name, and one file cannot hold both", millrace.Quote(name))
		}
	}
	return nil
}

// inputs are the files and folders that an output must not be in.
func inputs(plan *loaders.Plan, model string) []string {
	list := []string{plan.Path, plan.ManifestPath, model}
	if plan.ListPath == "" {
		return append(list, filepath.Dir(plan.ManifestPath)) // the dataset's folder
	}
	list = append(list, plan.ListPath)
	for _, f := range plan.Files {
		if !f.Remote {
			list = append(list, f.Path)
		}
	}
	return list
}

// expected are the columns of the output as far as they are known.
func expected(plan *loaders.Plan, model *estimator.Model, keep []string) []dtype.TensorSpec {
	var specs []dtype.TensorSpec
	for _, t := range model.Signature().Outputs {
		spec := dtype.TensorSpec{Name: t.Name, DType: t.DType}
		if dims := t.Shape.Dims(); len(dims) > 0 {
			spec.Shape = dtype.MakeShape(dims[1:]...)
		}
		specs = append(specs, spec)
	}
	for _, name := range keep {
		for _, t := range plan.Tensors {
			if t.Name == name {
				specs = append(specs, dtype.TensorSpec{Name: name, DType: t.DType, Shape: dtype.MakeShape(t.Shape...)})
			}
		}
	}
	return specs
}

// outName is how a message calls the output.
func outName(path string) string {
	if path == output.Stdout {
		return "standard output"
	}
	return millrace.Quote(path)
}
