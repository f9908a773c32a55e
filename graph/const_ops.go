package graph

import (
	"bytes"
	"fmt"

	"millrace/tfbridge"
)

// Const adds a constant: a Go value as [tfbridge.NewTensor] takes it, or a
// *tfbridge.Tensor, which stays the caller's.
//
// A constant of 2 GiB or more is an error of class ErrLimit. Several constants may be
// larger than that together, and the graph runs; but a GraphDef of it, for a file, is
// refused. Data of that size is better fed, or kept in a variable.
func (s *Scope) Const(value any) tfbridge.Output {
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	t, ok := value.(*tfbridge.Tensor)
	if !ok {
		var err error
		if t, err = tfbridge.NewTensor(value); err != nil {
			s.UpdateErr(fmt.Sprintf("Const of a %T", value), err)
			return tfbridge.Output{}
		}
		defer t.Close()
	}
	return s.Op1("Const", map[string]any{"dtype": t.DataType(), "value": t})
}

// Zeros adds a constant of zeros, or of empty strings.
func (s *Scope) Zeros(dtype tfbridge.DataType, shape ...int64) tfbridge.Output {
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	t, err := zeros(dtype, shape)
	if err != nil {
		s.UpdateErr(fmt.Sprintf("zeros of %v", dtype), err)
		return tfbridge.Output{}
	}
	defer t.Close()
	return s.Const(t)
}

func zeros(dtype tfbridge.DataType, shape []int64) (*tfbridge.Tensor, error) {
	n := int64(1)
	for _, dim := range shape {
		n *= dim
	}
	if dtype == tfbridge.String {
		return tfbridge.NewStringTensor(shape, make([]string, n))
	}
	return tfbridge.ReadTensor(dtype, shape, bytes.NewReader(make([]byte, n*int64(dtype.Size()))))
}

// Placeholder adds an input to be fed. The zero Shape leaves its shape open.
func (s *Scope) Placeholder(dtype tfbridge.DataType, shape tfbridge.Shape) tfbridge.Output {
	return s.Op1("Placeholder", map[string]any{"dtype": dtype, "shape": shape})
}

// PlaceholderWithDefault adds a PlaceholderWithDefault: x where nothing is fed, with a
// shape that may be less specific than x's.
func PlaceholderWithDefault(s *Scope, x tfbridge.Output, shape tfbridge.Shape) tfbridge.Output {
	return s.Op1("PlaceholderWithDefault", map[string]any{"shape": shape}, x)
}

// Identity adds an Identity, which passes its input on.
func Identity(s *Scope, x tfbridge.Output) tfbridge.Output {
	return s.Op1("Identity", nil, x)
}

// Fill adds a Fill: a tensor of the shape that dims holds, of one value.
func Fill(s *Scope, dims, value tfbridge.Output) tfbridge.Output {
	return s.Op1("Fill", nil, dims, value)
}

// ZerosLike adds a ZerosLike.
func ZerosLike(s *Scope, x tfbridge.Output) tfbridge.Output {
	return s.Op1("ZerosLike", nil, x)
}

// Range adds a Range: the numbers from start up to but excluding limit.
func Range(s *Scope, start, limit, delta tfbridge.Output) tfbridge.Output {
	return s.Op1("Range", nil, start, limit, delta)
}

// NoOp adds an operation that does nothing but wait for ops.
func NoOp(s *Scope, ops ...*tfbridge.Operation) *tfbridge.Operation {
	return s.WithControlDependencies(ops...).AddOperation(tfbridge.OpSpec{Type: "NoOp"})
}
