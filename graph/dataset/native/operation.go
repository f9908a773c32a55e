package native

import (
	"maps"
	"slices"

	"millrace"
	"millrace/dtype"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// The names of our operations.
const (
	opExampleBatch    = "MillraceExampleBatchDataset"
	opCheckedExamples = "MillraceJudgedExampleBatchDataset"
	opParseBatch      = "MillraceParseBatchDataset"
	opWindows         = "MillraceWindowsDataset"
	opChunkBatch      = "MillraceChunkBatchDataset"
	opChunkRecords    = "MillraceChunkRecordsDataset"

	opSequenceBatch      = "MillraceSequenceBatchDataset"
	opCheckedSequences   = "MillraceJudgedSequenceBatchDataset"
	opParseSequenceBatch = "MillraceParseSequenceBatchDataset"

	opOrderedExamples  = "MillraceOrderedExampleBatchDataset"
	opOrderedSequences = "MillraceOrderedSequenceBatchDataset"
	opOrderedRecords   = "MillraceOrderedRecordsDataset"
	opOrderedWindows   = "MillraceOrderedWindowsDataset"
	opWindowBatches    = "MillraceOrderedWindowBatchDataset"
	opEpochSequences   = "MillraceOrderedSequencesDataset"

	opCheckedOrderedExamples  = "MillraceJudgedOrderedExampleBatchDataset"
	opCheckedOrderedSequences = "MillraceJudgedOrderedSequenceBatchDataset"

	opGatherBlocks  = "MillraceGatherBlocksDataset"
	opServiceReport = "MillraceServiceReport"

	opRecordLengths   = "MillraceRecordLengths"
	opCheckMedia      = "MillraceCheckMedia"
	opImages          = "MillraceImages"
	opWords           = "MillraceWords"
	opRecords         = dataset.RecordsOp
	opCheckedRecords  = "MillraceJudgedRecordsDataset"
	opDecodeExamples  = "MillraceDecodeExamples"
	opDecodeSequences = "MillraceDecodeSequences"
)

// attrs are the attributes of an operation.
type attrs map[string]any

// add adds one of our dataset operations. All have the attributes output_types
// and output_shapes; more are added to them.
func add(s *graph.Scope, op string, specs []graph.Spec, more attrs, inputs ...tfbridge.Input) *dataset.Dataset {
	if s.Err() != nil {
		return none(s)
	}
	all := attrs{"output_types": graph.DTypes(specs), "output_shapes": graph.Shapes(specs)}
	maps.Copy(all, more)
	variant := s.Op1(op, all, inputs...)
	if s.Err() != nil {
		return none(s)
	}
	return dataset.FromVariant(s, variant, specs)
}

// none returns the placeholder for a dataset after a failure.
func none(s *graph.Scope) *dataset.Dataset {
	return dataset.FromVariant(s, tfbridge.Output{}, nil)
}

// addDecoder adds a dataset operation that decodes features to batches.
func addDecoder(s *graph.Scope, op string, features []Feature, batch int64, more attrs, inputs ...tfbridge.Input) *dataset.Dataset {
	all := decodeAttrs(s, op, features)
	maps.Copy(all, more)
	return add(s, op, exampleSpecs(s, op, features, batch), all, inputs...)
}

// exampleSpecs returns the specs of features of Examples in batches.
func exampleSpecs(s *graph.Scope, op string, features []Feature, batch int64) []graph.Spec {
	var specs []graph.Spec
	for i := range features {
		if features[i].List {
			s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "feature list %q: for lists of Examples there is Sequence.Examples", features[i].Key))
		}
		specs = append(specs, features[i].spec(batch))
	}
	return specs
}

// compression returns the name of a compression and reports an unknown one.
func compression(s *graph.Scope, op, name string) string {
	switch name {
	case "", "GZIP", "ZLIB":
	default:
		s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "unknown compression %q: must be \"\", \"GZIP\" or \"ZLIB\"", name))
	}
	return name
}

// decodeAttrs returns the attributes for the features to decode.
func decodeAttrs(s *graph.Scope, op string, features []Feature) attrs {
	var keys, kinds []string
	var stored []int64
	var big, finite []bool
	for _, f := range features {
		_, _, err := dtype.ByteSize(f.spec(0).DType, f.Shape)
		switch {
		case slices.Contains(keys, f.Key):
			s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "feature %q is to be decoded twice", f.Key))
		case slices.ContainsFunc(f.Shape, func(d int64) bool { return d < 0 || d > limit.PaddedDimension }):
			s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "feature %q: the shape %v is not known in advance", f.Key, f.Shape))
		case err != nil:
			s.UpdateErr(op, millrace.Errorf(millrace.ErrLimit, "feature %q: %w", f.Key, err))
		}
		keys, kinds = append(keys, f.Key), append(kinds, string(f.Kind))
		stored, big, finite = append(stored, f.stored()), append(big, f.BigEndian), append(finite, f.Finite)
	}
	return attrs{"keys": keys, "kinds": kinds, "values": stored, "big_endian": big, "finite": finite}
}
