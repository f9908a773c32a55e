// Package batches has the steps that work on whole batches: what a config says of them, and what they
// draw. Package build carries them out.
package batches

import (
	"fmt"
	"strings"

	"millrace/dtype"
	"millrace/graph"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/loaders/processing/models"
	"millrace/tfbridge"
)

// BatchStepConfig is one entry of "batch_steps": what is done to whole batches.
type BatchStepConfig struct {
	decl.Object
	Tensors []string `json:"tensors" decl:"nonempty,most=64" doc:"The tensors that rows are mixed of; with cutmix the first one is the image. shuffle_rows moves the rows of all tensors, and savedmodel names its tensors in args: both have no list."`
	Type    string   `json:"type" decl:"required" doc:"What the step does."`
	Args    any      `json:"args" decl:"variant=type" doc:"The arguments; type says which there are."`
}

// MixArgs are the arguments of the batch steps mixup and cutmix.
type MixArgs struct {
	decl.Object
	Alpha float64 `json:"alpha" decl:"required,above=0,max=1000" doc:"The share of a row that stays is drawn from the distribution Beta(alpha, alpha): near 0 or 1 for a small alpha, near one half for a large one."`
}

// ShuffleRowsArgs are the arguments of the batch step shuffle_rows, which has none.
type ShuffleRowsArgs struct{ decl.Object }

// The types of batch steps.
const (
	Mixup       = "mixup"
	Cutmix      = "cutmix"
	ShuffleRows = "shuffle_rows"
	SavedModel  = "savedmodel"
)

// Variants lists the arguments of each type of batch step.
func (*BatchStepConfig) Variants(string) []decl.Variant {
	return []decl.Variant{
		{Name: Mixup, Doc: "Mixes each row with the next one of the batch, the last one with the first.", New: func() any { return new(MixArgs) }},
		{Name: Cutmix, Doc: "Replaces a rectangle of each image by that part of the next one, and mixes the other tensors by its area.", New: func() any { return new(MixArgs) }},
		{Name: SavedModel, Doc: "Calls a signature of a saved model, in every mode.", New: func() any { return new(models.SavedModelArgs) }},
		{Name: ShuffleRows, Doc: "Brings the rows of a batch into a random order.", New: func() any { return new(ShuffleRowsArgs) }},
	}
}

// Step is a checked batch step.
type Step struct {
	Type    string
	Index   int // index in "batch_steps"
	Number  int // its place among all steps, from which its draws follow
	Tensors []string
	Alpha   float64 // parameter of the distribution for mixup and cutmix
}

// Explain describes the step.
func (b Step) Explain() string {
	if b.Type == ShuffleRows {
		return b.Type
	}
	return fmt.Sprintf("%s %s, alpha %v", b.Type, strings.Join(b.Tensors, ", "), b.Alpha)
}

// # What batch steps draw
//
// The question: a batch is made of other rows whenever its size, the shuffling or the shards change,
// and the number of a batch is not known after a run is resumed.
//
// The answer: each row draws for itself, as it does in other random steps: from the seed, the
// epoch, the step and its position in the data. A hidden step makes a tensor of draws for each example, which is
// batched like all others. The batch step consumes it.

// hidden begins the names of tensors of draws. The tensors of users cannot have such names.
const hidden = "\x00draws "

// DrawsName returns the name of the tensor of the step's draws.
func (b Step) DrawsName() string { return fmt.Sprint(hidden, b.Index) }

// DrawsSpec describes the tensor of the step's draws: for mixup the share of the row that stays; for
// cutmix also the place of the rectangle, vertical and horizontal; for shuffle_rows a number to sort by.
func (b Step) DrawsSpec() processing.Tensor {
	n := int64(1)
	if b.Type == Cutmix {
		n = 3
	}
	return processing.Tensor{Name: b.DrawsName(), DType: dtype.Float, Shape: []int64{n}}
}

// Draws returns the hidden step that makes the tensor of draws.
func (b Step) Draws() processing.Step {
	return processing.Fold{What: "draws of batches", To: b.DrawsSpec(), Func: func(s *processing.Site, _ []tfbridge.Output) tfbridge.Output {
		return b.draw(s)
	}}
}

// draw adds the operations that draw for one example.
func (b Step) draw(s *processing.Site) tfbridge.Output {
	if b.Type == ShuffleRows {
		return graph.StatelessRandomUniform(s.Scope, s.Const([]int32{1}), s.Seed)
	}
	gammas := s.Op1("StatelessRandomGammaV2", map[string]any{"dtype": tfbridge.Float}, s.Const([]int32{2}), s.Seed, s.Const(float32(b.Alpha)))
	first := graph.Subscript(s.Scope, gammas, graph.Until(1))
	sum := s.Op1("AddV2", nil, first, graph.Subscript(s.Scope, gammas, graph.From(1)))
	share := s.Op1("DivNoNan", nil, first, sum) // a quotient of gammas has the distribution beta
	if b.Type == Mixup {
		return share
	}
	place := graph.StatelessRandomUniform(s.Scope, s.Const([]int32{2}), s.Op1("Invert", nil, s.Seed))
	return graph.ConcatV2(s.Scope, []tfbridge.Output{share, place}, 0)
}
