package batching

import (
	"context"

	"millrace/tfbridge"
)

// WarmUp runs the model on copies of a request in every allowed batch size or, if any
// size is allowed, on the request alone. The first run of a size takes longer than
// later ones, because TensorFlow prepares it. WarmUp does not use the queue, so call it
// before requests come. Its errors are Predict's.
func (b *Batcher) WarmUp(ctx context.Context, inputs map[string]any) error {
	r, made, err := b.newRequest(inputs)
	defer closeAll(made)
	if err != nil {
		return err
	}
	sizes := b.options.AllowedBatchSizes
	if len(sizes) == 0 {
		sizes = []int{int(r.rows)}
	}
	for _, size := range sizes {
		if err := b.runCopies(ctx, r, int64(size)); err != nil {
			return err
		}
	}
	return nil
}

// runCopies runs the model on size rows, which repeat the rows of a request.
func (b *Batcher) runCopies(ctx context.Context, r *request, size int64) error {
	var parts []*part
	for left := size; left > 0 && r.rows > 0; left -= r.rows {
		parts = append(parts, &part{request: r, rows: min(left, r.rows)})
	}
	if len(parts) == 0 {
		return b.signature.errorf("a request without rows warms up nothing")
	}
	inputs := make([]*tfbridge.Tensor, len(r.inputs))
	defer closeAll(inputs)
	for i := range inputs {
		var err error
		if inputs[i], err = b.queue.joinInput(parts, i, size); err != nil {
			return err
		}
	}
	outputs, err := b.signature.call(ctx, inputs)
	closeAll(outputs)
	return err
}
