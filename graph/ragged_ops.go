package graph

import (
	"millrace/tfbridge"
)

// RaggedRange adds a RaggedRange with steps of 1: the numbers from each start up to but
// excluding its limit, joined, and the splits between them.
func RaggedRange(s *Scope, starts, limits tfbridge.Output) RaggedTensor {
	outputs := s.Op("RaggedRange", map[string]any{"Tsplits": tfbridge.Int64}, starts, limits, s.Const(int64(1)))
	from := &taker{outputs}
	parts := from.next(2)
	return RaggedTensor{RowSplits: parts[0], Values: parts[1]}
}

// RaggedTensorToVariant adds a RaggedTensorToVariant: a vector of variants,
// one for each row. [RaggedTensorFromVariant] is the reverse.
func RaggedTensorToVariant(s *Scope, x RaggedTensor) tfbridge.Output {
	return s.Op1("RaggedTensorToVariant", map[string]any{"RAGGED_RANK": int64(1), "batched_input": true},
		tfbridge.OutputList{x.RowSplits}, x.Values)
}

// RaggedTensorFromVariant adds a RaggedTensorFromVariant: the rows that a vector of
// variants holds. values is the spec of the joined rows.
func RaggedTensorFromVariant(s *Scope, rows tfbridge.Output, values Spec) RaggedTensor {
	outputs := s.Op("RaggedTensorFromVariant", map[string]any{
		"input_ragged_rank":  int64(0),
		"output_ragged_rank": int64(1),
		"Tvalues":            values.DType,
		"Tsplits":            tfbridge.Int64,
	}, rows)
	from := &taker{outputs}
	parts := from.next(2)
	return RaggedTensor{RowSplits: parts[0], Values: EnsureShape(s, parts[1], values.Shape)}
}

// RaggedTensorToTensor adds a RaggedTensorToTensor: the rows, padded with value to the
// same length. shape is the shape of the result; -1 as its first or second dimension
// means the number or the length of the rows. Rows and elements beyond the shape are
// cut off without an error.
func RaggedTensorToTensor(s *Scope, x RaggedTensor, shape, value tfbridge.Output) tfbridge.Output {
	return s.Op1("RaggedTensorToTensor", map[string]any{"row_partition_types": []string{"ROW_SPLITS"}},
		shape, x.Values, value, tfbridge.OutputList{x.RowSplits})
}
