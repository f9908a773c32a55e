package stage

import (
	"fmt"
	"slices"

	"millrace/internal/base/figures"
	"millrace/loaders/engine"
	"millrace/loaders/spec"
)

// Parse converts records to tensors.
type Parse struct {
	Features  []*spec.Feature // each once, sorted by name: the order of the outputs of TensorFlow's parsers
	Primaries []spec.Primary
	Tensors   []spec.TensorSpec // one for each of Primaries

	SequenceExamples bool // whether records are SequenceExamples; otherwise Examples
	Lists            bool // records may hold lists of any length
	MultiLoad        bool // records are parsed in batches
	DecodeLimit      int64
	Parallel         int64
	Sloppy           bool // batches may overtake each other
}

func parse(c engine.Choice) []Stage {
	return []Stage{Parse{
		Features: c.SortedFeatures(), Primaries: c.Primaries, Tensors: primaries(c), SequenceExamples: c.Manifest.AllowVarLen,
		Lists: c.HasLists(), DecodeLimit: c.DecodeLimit, MultiLoad: c.MultiLoad, Parallel: c.ParallelParses, Sloppy: engine.AnyOrder(c),
	}}
}

// FeatureOf returns the feature that a primary tensor is read from, nil for other tensors.
func (p Parse) FeatureOf(tensor string) *spec.Feature {
	for _, primary := range p.Primaries {
		if primary.To == tensor {
			return primary.From
		}
	}
	return nil
}

// IndexOf returns the index of the feature that a primary tensor is read from, -1 for
// other tensors.
func (p Parse) IndexOf(tensor string) int { return slices.Index(p.Features, p.FeatureOf(tensor)) }

// primaries returns the tensors of the primary features, as records have them.
func primaries(c engine.Choice) (tensors []spec.TensorSpec) {
	for _, f := range c.Primaries {
		tensors = append(tensors, spec.TensorSpec{Name: f.To, DType: f.From.DType, Shape: f.From.TensorShape()})
	}
	return tensors
}

// Explain says how much is parsed.
func (p Parse) Explain() Explained {
	what := figures.Plural(int64(len(p.Features)), "feature", "features")
	if p.MultiLoad {
		what += ", in batches"
	}
	if p.Parallel > 1 {
		what += fmt.Sprintf(", %s at the same time", figures.Count(p.Parallel))
	}
	return Explained{Name: "parse", What: what, Tensors: tensorsOf(p.Tensors...)}
}
