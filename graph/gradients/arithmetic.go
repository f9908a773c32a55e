package gradients

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// arithmetic adds operations to a scope.
type arithmetic struct{ *graph.Scope }

// f adds an operation without attributes.
func (a arithmetic) f(opType string, inputs ...tfbridge.Output) tfbridge.Output {
	return a.fa(opType, nil, inputs...)
}

// fa adds an operation with attributes.
func (a arithmetic) fa(opType string, attrs map[string]any, inputs ...tfbridge.Output) tfbridge.Output {
	in := make([]tfbridge.Input, len(inputs))
	for i, o := range inputs {
		in[i] = o
	}
	return a.Op1(opType, attrs, in...)
}

// ops adds an operation on outputs and returns its outputs.
func (a arithmetic) ops(opType string, attrs map[string]any, inputs ...tfbridge.Output) []tfbridge.Output {
	in := make([]tfbridge.Input, len(inputs))
	for i, o := range inputs {
		in[i] = o
	}
	return a.Op(opType, attrs, in...)
}

// fl adds an operation on a list and further inputs.
func (a arithmetic) fl(opType string, attrs map[string]any, list []tfbridge.Output, more ...tfbridge.Output) tfbridge.Output {
	in := []tfbridge.Input{tfbridge.OutputList(list)}
	for _, o := range more {
		in = append(in, o)
	}
	return a.Op1(opType, attrs, in...)
}

func (a arithmetic) add(x, y tfbridge.Output) tfbridge.Output { return a.f("AddV2", x, y) }
func (a arithmetic) sub(x, y tfbridge.Output) tfbridge.Output { return a.f("Sub", x, y) }
func (a arithmetic) mul(x, y tfbridge.Output) tfbridge.Output { return a.f("Mul", x, y) }
func (a arithmetic) div(x, y tfbridge.Output) tfbridge.Output { return a.f("RealDiv", x, y) }
func (a arithmetic) neg(x tfbridge.Output) tfbridge.Output    { return a.f("Neg", x) }

// shape returns the shape of x as int32.
func (a arithmetic) shape(x tfbridge.Output) tfbridge.Output { return a.shapeIn(x, tfbridge.Int32) }

// shapeIn returns the shape of x as integers of a data type: a constant if it is known.
func (a arithmetic) shapeIn(x tfbridge.Output, dt tfbridge.DataType) tfbridge.Output {
	switch known := a.Err() == nil && x.Shape().IsFullySpecified(); {
	case known && dt == tfbridge.Int32:
		return a.Const(narrow(x.Shape().Dims()))
	case known && dt == tfbridge.Int64:
		return a.Const(append([]int64{}, x.Shape().Dims()...))
	}
	return a.fa("Shape", map[string]any{"out_type": dt}, x)
}

// concat joins tensors along an axis; a single one stays as it is.
func (a arithmetic) concat(values []tfbridge.Output, axis tfbridge.Output) tfbridge.Output {
	if len(values) == 1 {
		return values[0]
	}
	return a.fl("ConcatV2", nil, values, axis)
}

// sumLast sums along the last dimension and keeps it.
func (a arithmetic) sumLast(x tfbridge.Output) tfbridge.Output {
	return a.fa("Sum", map[string]any{"keep_dims": true}, x, a.Const(int32(-1)))
}

// prod returns the product of a vector.
func (a arithmetic) prod(x tfbridge.Output) tfbridge.Output {
	return a.f("Prod", x, a.Const(int32(0)))
}

// shapeAs returns the shape of x as integers of the data type of other.
func (a arithmetic) shapeAs(x, other tfbridge.Output) tfbridge.Output {
	return a.shapeIn(x, other.DataType())
}

// narrow returns dimensions as int32, never nil.
func narrow(dims []int64) []int32 {
	out := make([]int32, len(dims))
	for i, d := range dims {
		out[i] = int32(d)
	}
	return out
}
