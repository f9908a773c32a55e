package inference

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// The input of signatures that take Examples.
const examplesInput = "inputs"

// examples returns serialized Examples.
type examples func() ([]string, error)

// inputOf returns the Examples of an input.
func inputOf(input *servingproto.Input) examples {
	return func() ([]string, error) { return serialized(input) }
}

// serialized returns the Examples of an input, each serialized. The features of a
// context come first, so that those of an Example replace them.
func serialized(input *servingproto.Input) ([]string, error) {
	examples, context := input.GetExampleList().GetExamples(), []byte(nil)
	if list := input.GetExampleListWithContext(); list != nil {
		var err error
		if context, err = proto.Marshal(list.GetContext()); err != nil {
			return nil, invalid("the context: %w", err)
		}
		examples = list.GetExamples()
	}
	if len(examples) == 0 {
		return nil, invalid("Input is empty.")
	}
	all := make([]string, len(examples))
	for i, e := range examples {
		raw, err := marshalExample(context, e)
		if err != nil {
			return nil, invalid("example %d: %w", i, err)
		}
		all[i] = string(raw)
	}
	return all, nil
}

// marshalExample serializes an Example after its context.
func marshalExample(context []byte, e *tfproto.Example) ([]byte, error) {
	return proto.MarshalOptions{}.MarshalAppend(slices.Clip(context), e)
}

// run runs a signature on Examples. The caller closes the results.
func run(ctx context.Context, m Model, key string, input examples, outputs []string) (results map[string]*tfbridge.Tensor, n int64, err error) {
	records, err := input()
	if err != nil {
		return nil, 0, err
	}
	m.CountExamples(len(records))
	results, err = m.Predict(ctx, key, map[string]any{examplesInput: records}, outputs...)
	return results, int64(len(records)), err
}

// takesExamples returns an error unless a signature has one input, of Examples.
func takesExamples(sig tfbridge.Signature) error {
	info, ok := sig.Inputs[examplesInput]
	switch {
	case len(sig.Inputs) != 1:
		return invalid("Expected one input Tensor.")
	case !ok:
		return invalid("the signature has no input %q", examplesInput)
	case info.DType != tfbridge.String:
		return invalid("the input %q takes %v, Examples are strings", examplesInput, info.DType)
	}
	return nil
}

// Records returns the serialized Examples of a logged request, nil if it has none.
func Records(log *servingproto.PredictionLog) [][]byte {
	var input *servingproto.Input
	switch {
	case log.GetClassifyLog() != nil:
		input = log.GetClassifyLog().GetRequest().GetInput()
	case log.GetRegressLog() != nil:
		input = log.GetRegressLog().GetRequest().GetInput()
	case log.GetMultiInferenceLog() != nil:
		input = log.GetMultiInferenceLog().GetRequest().GetInput()
	}
	if input == nil {
		return nil
	}
	texts, err := serialized(input)
	if err != nil {
		return nil
	}
	records := make([][]byte, len(texts))
	for i, text := range texts {
		records[i] = []byte(text)
	}
	return records
}

// Input returns the input of a request of serialized Examples, for its log.
func Input(records []string) *servingproto.Input {
	list := &servingproto.ExampleList{}
	for _, r := range records {
		e := &tfproto.Example{}
		if err := proto.Unmarshal([]byte(r), e); err != nil {
			return nil
		}
		list.Examples = append(list.Examples, e)
	}
	return &servingproto.Input{Kind: &servingproto.Input_ExampleList{ExampleList: list}}
}
