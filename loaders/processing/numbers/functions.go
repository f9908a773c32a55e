package numbers

import (
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// single is [apply] for an operation whose values depend in their last bit on their
// position in a vector: TensorFlow computes several values at once, and the rest in
// another way. So batches would give other values than single examples.
func single(op string, t processing.Input) processing.Step {
	return processing.Fold{To: t.Tensor, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output { return b.Op1(op, nil, in[0]) }}
}

// apply returns a step that adds one operation, which keeps data type and shape.
func apply(op string, t processing.Input) processing.Step {
	return processing.Map{To: t.Tensor, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output { return b.Op1(op, nil, x) }}
}
