package spec

import "millrace/loaders/decl"

// StepConfig is one entry of "processing_steps": what is done to a tensor.
type StepConfig struct {
	decl.Object
	Tensor string `json:"tensor" decl:"required,label=tensor" doc:"The to_name of the tensor that the step overwrites."`
	Type   string `json:"type" decl:"required" doc:"What the step does."`
	Args   any    `json:"args" decl:"variant=type" doc:"The arguments; type says which there are."` // of a type in stepTypes
}

// stepType declares a type of processing step. A new one is one more entry of stepTypes,
// and a file with its arguments and its [Step]. Package loaders/build/process builds it.
type stepType struct {
	name    string
	doc     string
	newArgs func() stepArgs
}

// stepTypes are the types of processing steps, in the order that schemas list them.
var stepTypes = []stepType{
	{"slice", "Takes a part of the tensor.", func() stepArgs { return new(SliceArgs) }},
}

// stepArgs are the arguments of one type of step, a pointer to a struct that embeds
// decl.Object.
type stepArgs interface {
	// check reports what is wrong with the arguments, by themselves and on the tensor t,
	// which is nil if it is not known. It returns nil where the step cannot be carried out.
	check(c stepPart, t *tensorState) Step
}

// Step is a checked processing step.
type Step interface {
	Type() string       // as in the config
	Explain() string    // what `millrace plan` prints
	Changes() string    // the tensor that the step overwrites
	Result() TensorSpec // this tensor afterwards, as far as it is known

	// Shape returns the shape that a tensor of one record gets. The error is a
	// *millrace.Error without a location.
	Shape(in []int64) ([]int64, error)

	// Removes reports whether the step takes an axis away.
	Removes(axis int) bool
}

// Variants lists the arguments of each type of processing step.
func (*StepConfig) Variants(string) []decl.Variant {
	var variants []decl.Variant
	for _, t := range stepTypes {
		variants = append(variants, decl.Variant{Name: t.name, Doc: t.doc, New: func() any { return t.newArgs() }})
	}
	return variants
}

// stepPart checks the processing steps.
type stepPart struct{ *checker }

// steps carries out the processing steps on what is known of the tensors.
func (c stepPart) steps() {
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
		var step Step
		if args, ok := s.Args.(stepArgs); ok {
			step = args.check(c, t)
		}
		switch {
		case step != nil:
			t.TensorSpec = step.Result()
			c.spec.Steps = append(c.spec.Steps, step)
		case t != nil:
			t.shaped = false // what comes out of a broken step is unknown
		}
	}
}
