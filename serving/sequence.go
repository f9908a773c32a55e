package serving

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

/*
Sequences: a signature run step by step

A model that generates a sequence (text token by token, a forecast hour by hour) is saved with a
signature that computes one step. Its owner names the outputs that become inputs of the next step:

	inputs --> [ step 1 ] --> [ step 2 ] --> ... --> the end output has the end value, or MaxSteps
	              |  \ feedback /  |
	           outputs 1        outputs 2            each is sent to the client when it is ready

The inputs without feedback keep the values of the request. Each step is an ordinary run of the
signature, so the steps of sequences that run at the same time share batches: a sequence joins and
leaves them at any step.
*/

// DefaultMaxSteps is how many steps a sequence has at most if its configuration has no limit.
const DefaultMaxSteps = 1024

// SequenceOptions are the options of a sequence. Nil and the zero value mean the defaults.
type SequenceOptions struct {
	Outputs  []string // to return; none stands for all
	MaxSteps int      // fewer steps than the configuration allows; 0: as many
}

// Sequence is a signature that runs step by step. Its methods must not be called concurrently.
type Sequence struct {
	version   *Version
	signature string
	config    *SequenceConfig // nil: one step
	wanted    []string        // outputs for the caller
	asked     []string        // outputs of each run, nil for all
	inputs    map[string]any
	outputs   map[string]*tfbridge.Tensor // what the last step returned
	left      int
}

// NewSequence prepares the steps of a signature of a version on a request's inputs. A signature without a
// [SequenceConfig] has one step. The inputs must not change until the sequence is closed.
//
// The error has the class millrace.ErrModel if the version has no such signature.
func NewSequence(v *Version, signature string, inputs map[string]any, o *SequenceOptions) (*Sequence, error) {
	if o == nil {
		o = &SequenceOptions{}
	}
	signature = cmp.Or(signature, graph.DefaultSignature)
	infos, ok := v.signatures[signature]
	if !ok {
		return nil, millrace.Errorf(millrace.ErrModel, "signature %s not found; the model has %q", millrace.Quote(signature), slices.Sorted(maps.Keys(v.signatures)))
	}
	if o.MaxSteps < 0 {
		return nil, millrace.Errorf(millrace.ErrModel, "max_steps is %d, it must not be negative", o.MaxSteps)
	}
	for _, name := range o.Outputs {
		if _, ok := infos.Outputs[name]; !ok {
			return nil, millrace.Errorf(millrace.ErrModel, "there is no output %s; the signature has %q", millrace.Quote(name), slices.Sorted(maps.Keys(infos.Outputs)))
		}
	}
	s := &Sequence{version: v, signature: signature, inputs: maps.Clone(inputs), wanted: o.Outputs, left: 1}
	if s.config = v.config.sequence(signature); s.config == nil {
		s.asked = o.Outputs
		return s, nil
	}
	s.left = cmp.Or(s.config.MaxSteps, DefaultMaxSteps)
	if o.MaxSteps > 0 {
		s.left = min(s.left, o.MaxSteps)
	}
	if len(o.Outputs) > 0 {
		s.asked = append(slices.Collect(maps.Keys(s.config.Feedback)), o.Outputs...)
		if s.config.EndOutput != "" {
			s.asked = append(s.asked, s.config.EndOutput)
		}
		slices.Sort(s.asked)
		s.asked = slices.Compact(s.asked)
	}
	return s, nil
}

// Next runs the next step and returns its outputs, which are valid until the next call of Next or
// Close. It returns nil after the last step. It fails as [Version.Predict] does.
func (s *Sequence) Next(ctx context.Context) (map[string]*tfbridge.Tensor, error) {
	if s.left == 0 {
		return nil, nil
	}
	s.left--
	outputs, err := s.version.Predict(ctx, s.signature, s.inputs, s.asked...)
	s.release()
	if err != nil {
		s.left = 0
		return nil, err
	}
	s.outputs = outputs
	if s.config != nil {
		for output, input := range s.config.Feedback {
			s.inputs[input] = outputs[output]
		}
		ended, err := s.config.endsWith(outputs)
		if ended || err != nil {
			s.left = 0
		}
		if err != nil {
			return nil, err
		}
	}
	if len(s.wanted) == 0 {
		return outputs, nil
	}
	chosen := make(map[string]*tfbridge.Tensor, len(s.wanted))
	for _, name := range s.wanted {
		chosen[name] = outputs[name]
	}
	return chosen, nil
}

// Last reports whether the step that Next returned was the last one.
func (s *Sequence) Last() bool { return s.left == 0 }

// Close ends the sequence and closes the outputs of its last step. It does not close the inputs
// of the request. It is idempotent.
func (s *Sequence) Close() {
	s.left = 0
	s.release()
}

// release closes the outputs of the last step.
func (s *Sequence) release() {
	for _, t := range s.outputs {
		t.Close()
	}
	s.outputs = nil
}

// sequence returns the configuration of a signature, nil if it is not the step of a sequence.
func (c *ModelConfig) sequence(signature string) *SequenceConfig {
	for i := range c.Sequences {
		if cmp.Or(c.Sequences[i].Signature, graph.DefaultSignature) == signature {
			return &c.Sequences[i]
		}
	}
	return nil
}

// endsWith reports whether the outputs of a step end the sequence.
func (c *SequenceConfig) endsWith(outputs map[string]*tfbridge.Tensor) (bool, error) {
	if c.EndOutput == "" {
		return false, nil
	}
	t := outputs[c.EndOutput]
	switch t.DataType() {
	case tfbridge.Bool:
		return allAre(t, c.EndValue == 1)
	case tfbridge.Int32:
		return allAre(t, int32(c.EndValue))
	}
	return allAre(t, c.EndValue)
}

// allAre reports whether all elements of a tensor have a value. A tensor without elements has none
// that could differ, so a sequence of no rows ends at once.
func allAre[T comparable](t *tfbridge.Tensor, value T) (bool, error) {
	view, err := tfbridge.View[T](t)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(view, func(v T) bool { return v != value }), nil
}

// checkSequences compares the configurations of sequences with the signatures of a model.
func checkSequences(v *Version) error {
	for i := range v.config.Sequences {
		c := &v.config.Sequences[i]
		key := cmp.Or(c.Signature, graph.DefaultSignature)
		sig, ok := v.signatures[key]
		if !ok {
			return sequenceErrorf(v, key, "the model has no such signature, but %q", slices.Sorted(maps.Keys(v.signatures)))
		}
		for _, output := range slices.Sorted(maps.Keys(c.Feedback)) {
			from, hasOutput := sig.Outputs[output]
			to, hasInput := sig.Inputs[c.Feedback[output]]
			switch {
			case !hasOutput:
				return sequenceErrorf(v, key, "feedback names output %q, and the signature has %q", output, slices.Sorted(maps.Keys(sig.Outputs)))
			case !hasInput:
				return sequenceErrorf(v, key, "feedback names input %q, and the signature has %q", c.Feedback[output], slices.Sorted(maps.Keys(sig.Inputs)))
			case from.DType != to.DType:
				return sequenceErrorf(v, key, "output %q of type %v cannot become input %q of type %v", output, from.DType, c.Feedback[output], to.DType)
			}
		}
		if c.EndOutput == "" {
			continue
		}
		end, ok := sig.Outputs[c.EndOutput]
		if !ok {
			return sequenceErrorf(v, key, "the end is output %q, and the signature has %q", c.EndOutput, slices.Sorted(maps.Keys(sig.Outputs)))
		}
		if !slices.Contains([]tfbridge.DataType{tfbridge.Bool, tfbridge.Int32, tfbridge.Int64}, end.DType) {
			return sequenceErrorf(v, key, "the end is output %q of type %v, it must be a bool, an int32 or an int64", c.EndOutput, end.DType)
		}
		if low, high := endValues(end.DType); c.EndValue < low || c.EndValue > high {
			return sequenceErrorf(v, key, "the end is output %q with the value %d, and a value of type %v is from %d to %d", c.EndOutput, c.EndValue, end.DType, low, high)
		}
	}
	return nil
}

// endValues returns the least and the greatest value of a type that can end a sequence.
func endValues(dt tfbridge.DataType) (low, high int64) {
	switch dt {
	case tfbridge.Bool:
		return 0, 1
	case tfbridge.Int32:
		return math.MinInt32, math.MaxInt32
	}
	return math.MinInt64, math.MaxInt64
}

// sequenceErrorf returns an error about the configuration of a sequence.
func sequenceErrorf(v *Version, signature, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrConfig, "model %q: sequences: %w", v.Name, fmt.Errorf(format, args...))
	e.Signature = signature
	return e
}
