package native

import (
	"maps"

	"millrace/graph"
	"millrace/tfbridge"
)

// DecodeOptions are the options of [Decode] and [DecodeSequences].
type DecodeOptions struct {
	// PlacedFiles are the names of all files, a vector of strings, if the records carry
	// their locations ([RecordsOptions].Placed). Without it an error only names the
	// record's number in the batch, or in the dataset.
	PlacedFiles tfbridge.Output
}

// files returns the input with the names of the files.
func (o *DecodeOptions) files(s *graph.Scope) tfbridge.Output {
	if o == nil || o.PlacedFiles.Op == nil {
		return s.Const([]string{})
	}
	return o.PlacedFiles
}

func (o *DecodeOptions) attrs() attrs {
	return attrs{"placed": o != nil && o.PlacedFiles.Op != nil}
}

// Decode decodes a vector of serialized Examples, into a component for each feature,
// with the records along the first axis. It accepts the same records as
// [graph.ParseExampleV2] and returns the same values, and no record can end the
// process.
func Decode(s *graph.Scope, serialized tfbridge.Output, features []Feature, o *DecodeOptions) []tfbridge.Output {
	const op = opDecodeExamples
	all := decodeAttrs(s, op, features)
	return addKernel(s, op, exampleSpecs(s, op, features, -1), all, o, serialized)
}

// DecodeSequences is [Decode] for records with lists, in place of
// [graph.ParseSequenceExampleV2], or of [graph.ParseExampleV2] with ragged features.
func DecodeSequences(s *graph.Scope, serialized tfbridge.Output, q *Sequence, o *DecodeOptions) []tfbridge.Output {
	const op = opDecodeSequences
	specs, all, fills := q.attrs(s, op, -1)
	return addKernel(s, op, specs, all, o, serialized, fills)
}

// addKernel adds an operation that decodes a vector of records.
func addKernel(s *graph.Scope, op string, specs []graph.Spec, all attrs, o *DecodeOptions, serialized tfbridge.Output, more ...tfbridge.Input) []tfbridge.Output {
	if s.Err() != nil {
		return make([]tfbridge.Output, len(specs))
	}
	maps.Copy(all, o.attrs())
	all["output_types"], all["output_shapes"] = graph.DTypes(specs), graph.Shapes(specs)
	inputs := append([]tfbridge.Input{serialized, o.files(s)}, more...)
	decoded := s.Op(op, all, inputs...)
	if s.Err() != nil {
		return make([]tfbridge.Output, len(specs))
	}
	return decoded
}
