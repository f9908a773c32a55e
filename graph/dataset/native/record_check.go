package native

import (
	"context"

	"millrace/graph"
	"millrace/tfbridge"
)

// A Check decides about a record that [Examples] or [Records] cannot decode, or that
// only a lenient reading as in TensorFlow decodes. Calls of one iterator are
// sequential, in the order of the records.
type Check func(ctx context.Context, d *Doubt) (Verdict, error)

// Doubt is a record that a [Check] decides about.
type Doubt struct {
	File   int64  // index in the list of files
	Record int64  // index in the file
	Offset int64  // offset in the decompressed bytes of the file; in an [Order] the record's position in the order
	Data   []byte // valid during the call; nil if it could not be read, and in an [Order]
}

// Verdict is the decision about a record.
type Verdict struct {
	Good       bool // decode the record
	RestOfFile bool // skip the following records of the file as well

	// If the record is skipped, reading continues at this record and offset. With
	// RestOfFile, Record is the number of records in the file. An [Order] ignores both
	// fields.
	Record, Offset int64
}

// op returns the name of the operation with a check if there is one.
func (j Check) op(without, with string) string {
	if j == nil {
		return without
	}
	return with
}

// add adds the check to the attributes of an operation, and returns the last inputs.
// Without a check it adds and returns nothing.
func (j Check) add(s *graph.Scope, more attrs) []tfbridge.Input {
	if j == nil {
		return nil
	}
	f := j.function(s)
	more["f"] = f.Attr()
	return []tfbridge.Input{f.Inputs()}
}

// function makes the function of the graph that the operation calls.
func (j Check) function(s *graph.Scope) *graph.Func {
	scalar := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
	call := func(ctx context.Context, args []*tfbridge.Tensor) ([]*tfbridge.Tensor, error) {
		d := &Doubt{}
		for i, to := range []*int64{&d.File, &d.Record, &d.Offset} {
			v, err := tfbridge.View[int64](args[i])
			if err != nil {
				return nil, err
			}
			*to = v[0]
		}
		data, err := args[3].Strings()
		if err != nil {
			return nil, err
		}
		if len(data) > 0 {
			d.Data = []byte(data[0])
		}
		v, err := j(ctx, d)
		if err != nil {
			return nil, err
		}
		return v.tensors()
	}
	text := graph.Spec{DType: tfbridge.String, Shape: tfbridge.MakeShape(-1)}
	in, out := []graph.Spec{scalar, scalar, scalar, text}, []graph.Spec{scalar, scalar}
	return s.Func("check_record", in, nil, func(s *graph.Scope, args, _ []tfbridge.Output) []tfbridge.Output {
		return graph.GoFunction(s, graph.GoFunc{Name: "check_record", Out: out, Fn: call, Pure: true}, args...)
	})
}

// tensors returns the results of the function: see cgo/datasets/record_judge.h.
func (v Verdict) tensors() ([]*tfbridge.Tensor, error) {
	record, offset := v.Record, v.Offset
	switch {
	case v.Good:
		record, offset = -1, -1
	case v.RestOfFile:
		offset = -1
	}
	first, err := tfbridge.NewTensor(record)
	if err != nil {
		return nil, err
	}
	second, err := tfbridge.NewTensor(offset)
	if err != nil {
		first.Close()
		return nil, err
	}
	return []*tfbridge.Tensor{first, second}, nil
}
