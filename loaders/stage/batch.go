package stage

import (
	"fmt"
	"slices"
	"strings"

	"millrace/internal/base/figures"
	"millrace/loaders/engine"
	"millrace/loaders/spec"
)

// Batch joins examples to batches.
type Batch struct {
	Size     int64 // examples
	Drop     bool  // whether a short last batch is dropped
	Endless  bool  // whether the data are endless
	Bucketed bool  // the examples of a batch are of one bucket
	Elements bool  // the size of a batch depends on its bucket
	Within   bool  // no batch has examples of two epochs
	Epochs   int64 // at least 1
	Padded
}

// Budget joins rows to batches of a limited number of frames.
type Budget struct {
	Frames    int64    // limit for each sequence, padding included
	MaxSeqs   int64    // rows; 0 = any number
	Sequences []string // tensors whose frames are counted
	Padded
}

// Padded describes the tensors of a batch.
type Padded struct {
	Rows    int64             // rows of every batch; -1 = they may differ
	Tensors []spec.TensorSpec // the tensors of an example
	Padding []spec.Pad        // nil = none; else one entry for each of Tensors
	Draws   int               // how many tensors at the end are draws of batch steps, which consume them

	Delivered []spec.TensorSpec // the tensors after the steps that see batches
}

func batch(c engine.Choice) []Stage {
	examples := c.Examples()
	padded := Padded{c.BatchRows(), slices.Clip(examples.Tensors), slices.Clip(examples.Padding), len(c.BatchSteps), c.Tensors}
	for _, b := range c.BatchSteps {
		draws := b.DrawsSpec()
		padded.Tensors = append(padded.Tensors, draws)
		if examples.Padding != nil {
			padded.Padding = append(padded.Padding, spec.Pad{Tensor: draws.Name, Shape: draws.Shape, Value: 0.0})
		}
	}
	if c.Chunks == nil {
		elements := c.Bucket != nil && c.Bucket.Elements > 0
		return []Stage{Batch{c.BatchSize, c.DropRemainder, c.Epochs == 0, c.Bucket != nil, elements, c.WithinEpoch, max(c.Epochs, 1), padded}}
	}
	b := Budget{Frames: c.BatchSize, MaxSeqs: c.Chunks.MaxSeqs, Padded: padded}
	for _, q := range c.Chunks.Sequences {
		b.Sequences = append(b.Sequences, q.Tensor)
	}
	return []Stage{b}
}

// Explain says how many examples a batch has.
func (b Batch) Explain() Explained {
	what := figures.Plural(b.Size, "example", "examples")
	if b.Elements {
		what = "up to " + what
	}
	switch {
	case b.Within && b.Drop:
		what += ", a rest of each epoch is dropped"
	case b.Within:
		what += ", the last of each epoch may have fewer"
	case b.Endless:
	case b.Drop && b.Bucketed:
		what += ", a rest of each bucket is dropped"
	case b.Drop:
		what += ", a rest is dropped"
	case b.Bucketed:
		what += ", the last of each bucket may have fewer"
	default:
		what += ", the last may have fewer"
	}
	return b.explain(what)
}

// Explain says how many frames a batch has.
func (b Budget) Explain() Explained {
	what := fmt.Sprintf("rows of up to %s of each of %s", figures.Plural(b.Frames, "frame", "frames"), strings.Join(b.Sequences, ", "))
	if b.MaxSeqs > 0 {
		what += ", at most " + figures.Plural(b.MaxSeqs, "row", "rows")
	}
	return b.explain(what + ", padding included; an epoch's end ends its last batch")
}

// Results returns the tensors of the batches that a run delivers.
func (p Padded) Results() []spec.TensorSpec { return p.Delivered }

// joined returns the tensors of the batches before the steps that see batches.
func (p Padded) joined() []spec.TensorSpec { return p.Tensors[:len(p.Tensors)-p.Draws] }

// explain adds the tensors of a batch.
func (p Padded) explain(what string) Explained {
	x := Explained{Name: "batch", What: what, Tensors: tensorsOf(p.joined()...)}
	if p.Padding != nil {
		x.Name = PaddedBatchName
	}
	for i, t := range p.joined() {
		shape := t.Shape
		if p.Padding != nil {
			shape = spec.PaddedShape(shape, p.Padding[i].Shape)
			if share, known := PadShare(t, p.Padding[i]); known && len(t.Shape) > 0 {
				x.Tensors[i].Padding = &share
			}
		}
		x.Tensors[i].Shape = append([]int64{p.Rows}, shape...)
	}
	return x
}

// Tensor returns the tensor of a name, a zero TensorSpec if there is none.
func (p Padded) Tensor(name string) spec.TensorSpec {
	if i := p.Index(name); i >= 0 {
		return p.Tensors[i]
	}
	return spec.TensorSpec{}
}

// Index returns the index of a tensor in a batch, -1 if there is none of the name.
func (p Padded) Index(name string) int {
	return slices.IndexFunc(p.Tensors, func(t spec.TensorSpec) bool { return t.Name == name })
}

// Full reports whether all batches have the same size: a short last batch is dropped, or
// an endless dataset has none. Saying so makes the batch dimension static.
func (b Batch) Full() bool { return b.Drop || b.Endless && !b.Within }

// PadShare returns how much of a padded tensor is padding, if its size is known
// before the data is read.
func PadShare(t spec.TensorSpec, pad spec.Pad) (share float64, known bool) {
	if slices.Contains(t.Shape, -1) {
		return 0, false
	}
	whole := spec.NumElements(spec.PaddedShape(t.Shape, pad.Shape))
	if whole == 0 {
		return 0, true
	}
	return 1 - float64(spec.NumElements(t.Shape))/float64(whole), true
}

// count subtracts the last batch where it is dropped. Each bucket drops one.
func (b Batch) count(in Count, _ Data) (Count, bool) {
	epochs := int64(1)
	if b.Within {
		epochs = b.Epochs
	}
	if b.Drop {
		in.Elements -= epochs * (in.Elements / epochs % b.Size)
	}
	return in, !b.Drop || !b.Bucketed
}
