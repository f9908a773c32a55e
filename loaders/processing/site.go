package processing

import (
	"millrace/graph"
	"millrace/graph/dataset/native"
	"millrace/internal/base/bytecheck"
	"millrace/tfbridge"
)

// Checked adds a check of bytes before an operation decodes them, because the operation could end
// the process, or take all memory: see package bytecheck. name is for messages.
func (b *Site) Checked(name string, x tfbridge.Output, spec *bytecheck.Spec) tfbridge.Output {
	if b.Portable {
		return x
	}
	if b.NoGo {
		return native.CheckMedia(b.Scope, name, x, spec)
	}
	if spec.Limit == 0 {
		spec.Limit = bytecheck.DefaultLimit
	}
	check := tfbridge.CheckSpec{Parser: b.Prefix() + name, Bytes: spec}
	return b.Op1(tfbridge.OpCheckBytes, map[string]any{"check": string(check.Attr())}, x, tfbridge.OutputList{})
}

// InRows returns a shape of an example as a vector, with lead 1 after the number of rows of the
// batch. The shape is known.
func (b *Site) InRows(shape []int64, lead int) tfbridge.Output {
	if lead == 0 {
		return b.Const(shape)
	}
	front := b.Const(int32(0))
	return b.Op1("ConcatV2", nil, tfbridge.OutputList{b.Op1("ExpandDims", nil, b.Rows, front), b.Const(shape)}, front)
}

// Widened adds n axes of size 1 after the lead axes of a tensor.
func (b *Site) Widened(x tfbridge.Output, n, lead int) tfbridge.Output {
	for range n {
		x = b.Op1("ExpandDims", nil, x, b.Const(int32(lead)))
	}
	return x
}

// Shaped returns a tensor whose shape is as the check of the config says.
func (b *Site) Shaped(x tfbridge.Output, shape []int64) tfbridge.Output {
	return graph.EnsureShape(b.Scope, x, tfbridge.MakeShape(shape...))
}

// Dim returns a dimension of a tensor as an int32 scalar.
func (b *Site) Dim(x tfbridge.Output, axis int64) graph.Tensor {
	shape := b.Op1("Shape", map[string]any{"out_type": tfbridge.Int32}, x)
	return b.Tensor(shape).Subscript(graph.At(axis))
}

// PadAfter adds n zeros, an int32 scalar, after the last of a tensor's axes, which has the number
// last.
func (b *Site) PadAfter(x tfbridge.Output, last int, n graph.Tensor) tfbridge.Output {
	end := b.Op1("Pack", nil, tfbridge.OutputList{b.Const(int32(0)), n.Output()})
	pads := b.Op1("ExpandDims", nil, end, b.Const(int32(0)))
	if last > 0 {
		pads = b.Op1("ConcatV2", nil, tfbridge.OutputList{b.Const(make([][2]int32, last)), pads}, b.Const(int32(0)))
	}
	return b.Op1("Pad", nil, x, pads)
}

// When returns f(x) where cond, a bool scalar, is true, and x elsewhere. The operations of f run only
// in the first case. It adds Switch and Merge: an If or Case would call a function, which needs TensorFlow's
// optimizer in a dataset, and a thread of its pool while the caller holds one.
func (b *Site) When(cond, x tfbridge.Output, f func(x tfbridge.Output) tfbridge.Output) tfbridge.Output {
	ways := b.Op("Switch", nil, x, cond)
	if b.Err() != nil {
		return tfbridge.Output{}
	}
	made := f(ways[1])
	if b.Err() != nil {
		return tfbridge.Output{}
	}
	return b.Op("Merge", nil, tfbridge.OutputList{ways[0], made})[0]
}
