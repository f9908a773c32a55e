package spec

import (
	"fmt"
	"math"

	"millrace/internal/base/figures"
	"millrace/loaders/decl"
)

// StepConfig is one entry of "processing_steps": what is done to a tensor.
type StepConfig struct {
	decl.Object
	Tensor string `json:"tensor" decl:"required,label=tensor" doc:"The to_name of the tensor that the step overwrites."`
	Type   string `json:"type" decl:"required" doc:"What the step does."`
	Args   any    `json:"args" decl:"variant=type" doc:"The arguments; type says which there are."` // *SliceArgs
}

// Variants lists the arguments of each type of processing step.
func (*StepConfig) Variants(string) []decl.Variant {
	return []decl.Variant{
		{Name: "slice", New: func() any { return new(SliceArgs) }, Doc: "Takes a part of the tensor."},
	}
}

// SliceArgs are the arguments of a processing step of type slice.
type SliceArgs struct {
	decl.Object
	Slice string `json:"slice" decl:"required" doc:"A slice as in Python, of integers and ranges without steps, not counting the batch dimension: [3,:,4:,:-2,1:4]."`
}

// steps carries out the processing steps on what is known of the tensors.
func (c *checker) steps() {
	for i := range c.args.ProcessingSteps {
		s := &c.args.ProcessingSteps[i]
		if s.At == nil {
			continue
		}
		var t *tensorState
		if !s.Bad("tensor") {
			t = c.tensor(s.Key("tensor"), s.Tensor)
		}
		if t != nil && t.measure != nil {
			c.inConfig.Report(s.Key("tensor"), "%s is made after the processing steps", decl.Quote(t.Name))
			t = nil
		}
		args, ok := s.Args.(*SliceArgs)
		if !ok || args.At == nil || args.Bad("slice") {
			if t != nil {
				t.shaped = false // what comes out of a broken step is unknown
			}
			continue
		}
		c.slice(args, t)
	}
}

// slice checks a slice by itself and on the tensor, if that is known.
func (c *checker) slice(a *SliceArgs, t *tensorState) {
	at := a.Key("slice")
	indices, err := parseSlice(a.Slice)
	if err != nil {
		c.inConfig.Report(at, "%s is not a slice: %v", decl.Quote(a.Slice), err)
		if t != nil {
			t.shaped = false
		}
		return
	}
	if t == nil || !t.shaped {
		return
	}
	in := t.TensorSpec
	if len(indices) > len(in.Shape) {
		c.inConfig.Report(at, "the slice %s has %s, the tensor %s", decl.Quote(a.Slice), figures.Plural(int64(len(indices)), "index", "indices"), dimensions(len(in.Shape)))
		t.shaped = false
		return
	}
	shape, err := slicedShape(in.Shape, indices)
	if err != nil {
		c.inConfig.Report(at, "the slice %s: %v", decl.Quote(a.Slice), err)
		t.shaped = false
		return
	}
	if t.sequence && indices[0].Single {
		c.inConfig.Report(at, "the slice %s takes away the time axis of the sequence %s; take a range of it", decl.Quote(a.Slice), decl.Quote(t.Name))
		t.shaped = false
		return
	}
	t.Shape = shape
	c.spec.Steps = append(c.spec.Steps, Slice{
		Tensor: t.Name, Text: a.Slice, Indices: indices, In: in, Out: t.TensorSpec,
	})
}

// dimensions returns "no dimensions", "1 dimension" or "n dimensions".
func dimensions(n int) string {
	switch n {
	case 0:
		return "no dimensions"
	case 1:
		return "1 dimension"
	}
	return fmt.Sprintf("%d dimensions", n)
}

// slicedShape returns the shape of a slice. It is an error if an index is
// outside of a dimension that is known; what is unknown stays unknown.
func slicedShape(shape []int64, indices []SliceIndex) ([]int64, error) {
	out := []int64{}
	for i, index := range indices {
		size := shape[i]
		if !index.Single {
			out = append(out, index.positions(size))
			continue
		}
		if at := *index.Begin; size >= 0 && (at >= size || at < -size) {
			return nil, fmt.Errorf("index %d is outside of dimension %d, which has size %d", at, i, size)
		}
	}
	return append(out, shape[len(indices):]...), nil
}

// positions returns how many positions of a dimension a range takes, -1 if
// that is not known. Ends beyond the dimension are cut as in Python.
func (x SliceIndex) positions(size int64) int64 {
	if size >= 0 {
		return x.Length(size)
	}
	begin, end := int64(0), int64(math.MaxInt64)
	if x.Begin != nil {
		begin = *x.Begin
	}
	if x.End != nil {
		end = *x.End
	}
	if begin >= end && (begin < 0) == (end < 0) || end == 0 {
		return 0 // whatever the size
	}
	return -1
}
