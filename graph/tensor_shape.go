package graph

import (
	"slices"

	"millrace/tfbridge"
)

// Cast adds a Cast to another data type: numbers are cut off as in Go, not
// rounded. It adds nothing when the tensor has the type.
func (t Tensor) Cast(dt tfbridge.DataType) Tensor {
	if t.DataType() == dt {
		return t
	}
	return t.apply("Cast", map[string]any{"DstT": dt})
}

// Reshape adds a Reshape to dims, One of them may be -1: it takes the size that is
// left.
func (t Tensor) Reshape(dims ...int64) Tensor {
	return t.binary("Reshape", slices.Clone(dims))
}

// Transpose adds a Transpose: dimension i of the result is dimension perm[i]
// of the tensor. Without perm the dimensions are reversed, which needs a known
// number of them.
func (t Tensor) Transpose(perm ...int64) Tensor {
	if len(perm) == 0 {
		rank := t.rank("Transpose")
		perm = make([]int64, rank)
		for i := range perm {
			perm[i] = int64(rank - 1 - i)
		}
	}
	return t.binary("Transpose", slices.Clone(perm))
}

// ExpandDims adds an ExpandDims: a dimension of size 1 before dimension axis. A
// negative axis counts from the end; -1 adds the last dimension.
func (t Tensor) ExpandDims(axis int64) Tensor { return t.constant("ExpandDims", axis) }

// Squeeze adds a Squeeze: it removes the dimensions in axes, which must have size 1, or
// all dimensions of size 1 if axes is empty.
func (t Tensor) Squeeze(axes ...int64) Tensor {
	return t.apply("Squeeze", map[string]any{"squeeze_dims": append([]int64{}, axes...)})
}

// Subscript adds a StridedSlice that does what x[at...] does in Python.
func (t Tensor) Subscript(at ...Index) Tensor {
	if t.scope == nil {
		return t
	}
	return Tensor{scope: t.scope, output: Subscript(t.scope, t.output, at...)}
}

// Gather adds a GatherV2: the parts of the tensor at indices of an axis.
// Indices are int32 or int64, and are replaced by the parts' other dimensions.
func (t Tensor) Gather(indices any, axis int64) Tensor {
	if t.scope == nil {
		return t
	}
	in := t.integers("GatherV2", indices)
	return t.apply("GatherV2", nil, in, t.scope.Const(axis))
}

// Concat adds a ConcatV2: the tensor and others joined along an axis.
func (t Tensor) Concat(axis int64, others ...any) Tensor {
	return t.join(others, func(s *Scope, all []tfbridge.Output) tfbridge.Output { return ConcatV2(s, all, axis) })
}

// Stack adds a Pack: the tensor and others, all of one shape, along a new
// axis.
func (t Tensor) Stack(axis int64, others ...any) Tensor {
	return t.join(others, func(s *Scope, all []tfbridge.Output) tfbridge.Output { return Pack(s, all, axis) })
}

// join adds an operation on the tensor and others.
func (t Tensor) join(others []any, add func(*Scope, []tfbridge.Output) tfbridge.Output) Tensor {
	if t.scope == nil {
		return t
	}
	all := []tfbridge.Output{t.output}
	for _, o := range others {
		all = append(all, t.operand("join", o))
	}
	return Tensor{scope: t.scope, output: add(t.scope, all)}
}

// constant adds an operation on the tensor and a constant.
func (t Tensor) constant(opType string, value any) Tensor {
	if t.scope == nil {
		return t
	}
	return t.apply(opType, nil, t.scope.Const(value))
}

// integers returns indices as an output; a Go int becomes an int64.
func (t Tensor) integers(what string, indices any) tfbridge.Output {
	if n, ok := indices.(int); ok {
		indices = int64(n)
	}
	if list, ok := indices.([]int); ok {
		wide := make([]int64, len(list))
		for i, n := range list {
			wide[i] = int64(n)
		}
		indices = wide
	}
	switch v := indices.(type) {
	case tfbridge.Output, Tensor:
		return t.operand(what, v)
	}
	return t.scope.Const(indices)
}

// rank returns the number of dimensions. An unknown number is a failure.
func (t Tensor) rank(what string) int {
	if t.scope == nil || t.scope.Err() != nil {
		return 0
	}
	n := t.Shape().NumDimensions()
	if n < 0 {
		t.scope.fail(what, "the number of dimensions is not known while building; name them")
		return 0
	}
	return n
}
