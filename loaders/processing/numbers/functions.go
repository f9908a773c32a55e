package numbers

import (
	"slices"

	"millrace/loaders/processing"
	"millrace/tfbridge"
)

/*
Functions whose last bit depends on the place of a value

The question: TensorFlow computes a logarithm of eight or sixteen values at once, and what remains at
the end of a tensor one by one, in another way, so that the last bit may differ. A batch would give
other values than its examples one by one, and calling a function for each example takes longer
than the logarithm.

What was tried: to fill each example up to a multiple of the values that are computed at once. That
gives other bits than Python for a scalar, which it computes alone.

The answer: examples whose size is such a multiple have no remainder, so a batch of them has the
same bits. Others are computed one by one.
*/

// packet is a multiple of the number of values that TensorFlow computes at once, on any processor.
const packet = 32

// single is [apply] for an operation whose values depend in their last bit on their place.
func single(op string, t processing.Input) processing.Step {
	return packed("", t, func(b *processing.Site, x tfbridge.Output) tfbridge.Output { return b.Op1(op, nil, x) })
}

// packed returns a step that computes each value by f, whose last bit may depend on the place.
func packed(what string, t processing.Input, f func(b *processing.Site, x tfbridge.Output) tfbridge.Output) processing.Step {
	size := int64(1)
	for _, n := range t.Shape {
		size *= n
	}
	if t.Shape == nil || slices.Contains(t.Shape, -1) || size%packet != 0 {
		return processing.Fold{What: what, To: t.Tensor, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output { return f(b, in[0]) }}
	}
	return processing.Batched{What: what, To: t.Tensor, Func: func(b *processing.Site, in []tfbridge.Output, _ int) tfbridge.Output { return f(b, in[0]) }}
}

// apply returns a step that adds one operation, which keeps data type and shape.
func apply(op string, t processing.Input) processing.Step {
	return processing.Map{To: t.Tensor, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output { return b.Op1(op, nil, x) }}
}
