package stage

import (
	"fmt"

	"millrace/internal/base/figures"
	"millrace/loaders/engine"
	"millrace/loaders/spec"
)

// Parse makes tensors of what records store.
type Parse struct {
	Features  int64 // that are parsed, each once
	MultiLoad bool  // records are parsed in batches
	Parallel  int64
	Tensors   []spec.TensorSpec // of the primary features
}

func parse(c engine.Choice) []Stage {
	return []Stage{Parse{int64(len(c.Features)), c.MultiLoad, c.ParallelParses, primaries(c)}}
}

// primaries returns the tensors of the primary features, as records have them.
func primaries(c engine.Choice) (tensors []spec.TensorSpec) {
	for _, f := range c.Primaries {
		tensors = append(tensors, spec.TensorSpec{Name: f.To, DType: f.From.DType, Shape: f.From.TensorShape()})
	}
	return tensors
}

// Explain says how much is parsed.
func (p Parse) Explain() Explained {
	what := figures.Plural(p.Features, "feature", "features")
	if p.MultiLoad {
		what += ", in batches"
	}
	if p.Parallel > 1 {
		what += fmt.Sprintf(", %s at the same time", figures.Count(p.Parallel))
	}
	return Explained{Name: "parse", What: what, Tensors: tensorsOf(p.Tensors...)}
}
