package estimate

import (
	"path/filepath"

	"millrace/cmd/millrace/internal/cli"
	"millrace/dtype"
	"millrace/estimator"
	"millrace/loaders"
	"millrace/remote"
	"millrace/savedmodel"
)

// prediction is a model, the plan that feeds it, and the place for its outputs.
type prediction struct {
	plan    *loaders.Plan
	checked *estimator.CheckedModel
	outputs []savedmodel.Tensor // outputs of the signature that are written
	flags   *predictFlags
	out     destination
	meter   *cli.Meter

	before   int64 // rows that an earlier process has written
	complete bool  // it has written all of them
}

// inputs returns the files and folders that the output must not overwrite or
// lie in.
func inputs(plan *loaders.Plan, model string) []string {
	list := []string{plan.Path, plan.ManifestPath, model}
	if plan.ListPath == "" {
		folder := filepath.Dir
		if remote.IsURL(plan.ManifestPath) {
			folder = remote.Dir
		}
		return append(list, folder(plan.ManifestPath)) // the dataset's folder
	}
	list = append(list, plan.ListPath)
	for _, f := range plan.Files {
		list = append(list, f.Path)
	}
	return list
}

// columns returns the columns of the output, as far as they are known.
func (j *prediction) columns() []dtype.TensorSpec {
	return append(j.expected(), j.flags.provenance.Specs()...)
}

// expected returns the tensors of the output, as far as the model's signature gives
// them.
func (j *prediction) expected() []dtype.TensorSpec {
	var specs []dtype.TensorSpec
	for _, t := range j.outputs {
		spec := dtype.TensorSpec{Name: t.Name, DType: t.DType}
		if dims := t.Shape.Dims(); len(dims) > 0 {
			spec.Shape = dtype.MakeShape(dims[1:]...)
		}
		specs = append(specs, spec)
	}
	for _, name := range j.flags.config.Keep {
		for _, t := range cli.Specs(j.plan) {
			if t.Name == name {
				specs = append(specs, t)
			}
		}
	}
	return specs
}
