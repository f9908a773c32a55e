package batching

import (
	"errors"

	"millrace/tfbridge"
)

// A batch whose data the model refuses is run again in halves, down to single requests,
// so that no request fails because of another request's data. One bad request among n
// costs about 2*log2(n) more runs.
//
// The halves are cut from the tensors that were joined: a request that has left may
// have closed its own.

// blame runs the halves of a batch that failed with err, and sets the outcome of each
// part. Errors that are not about the data fail all parts.
func (b *batch) blame(inputs []*tfbridge.Tensor, err error) {
	b.errs = make([]error, len(b.parts))
	b.halve(inputs, span{parts: b.parts, errs: b.errs}, err)
}

// span is some neighbouring parts of a batch, from the row start on.
type span struct {
	parts []*part
	errs  []error
	start int64
}

// halve runs the halves of a span that failed with err.
func (b *batch) halve(inputs []*tfbridge.Tensor, s span, err error) {
	if len(s.parts) == 1 || !errors.Is(err, tfbridge.InvalidArgument) || b.ctx.Err() != nil {
		for i := range s.errs {
			s.errs[i] = err
		}
		return
	}
	half := len(s.parts) / 2
	first := span{s.parts[:half], s.errs[:half], s.start}
	second := span{s.parts[half:], s.errs[half:], s.start + rowsOf(first.parts)}
	for _, h := range []span{first, second} {
		if err := b.runSpan(inputs, h); err != nil {
			b.halve(inputs, h, err)
		}
	}
}

// runSpan runs the model on the rows of a span.
func (b *batch) runSpan(inputs []*tfbridge.Tensor, s span) error {
	rows := rowsOf(s.parts)
	size := b.queue.size(rows)
	some := make([]*tfbridge.Tensor, len(inputs))
	defer func() { closeAll(some) }()
	for i := range inputs {
		var err error
		if some[i], err = b.queue.cutInput(inputs, i, s.start, rows, size); err != nil {
			return err
		}
	}
	outputs, err := b.call(some)
	if err != nil {
		return err
	}
	if err := b.queue.signature.checkOutputs(outputs, size); err != nil {
		closeAll(outputs)
		return err
	}
	share(s.parts, outputs, size)
	return nil
}

// rowsOf returns how many rows parts have.
func rowsOf(parts []*part) int64 {
	rows := int64(0)
	for _, p := range parts {
		rows += p.rows
	}
	return rows
}
