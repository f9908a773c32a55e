package batching

import (
	"slices"

	"millrace"
	"millrace/tfbridge"
)

/*
Who closes the outputs of a batch

The outputs of a run are tensors of all its rows. Each part of the batch reads its own
rows there, in the goroutine of its request, and the last one that is done closes them:

	outputs of the run   [ r1 | r4 r4 | r5 | padding ]    users: 3
	                       |      |     +-- 1 row at 3
	                       |      +-------- 2 rows at 1
	                       +--------------- 1 row at 0

So a batch makes no tensors for its requests. Predict copies rows into tensors that its
caller keeps. PredictRows lends them.
*/

// share gives each part its rows of the outputs of a run with a number of rows.
func share(parts []*part, outputs []*tfbridge.Tensor, size int64) {
	o := &outcome{tensors: outputs, whole: len(parts) == 1 && parts[0].rows == size}
	o.users.Store(int32(len(parts)))
	at := int64(0)
	for _, p := range parts {
		p.outcome, p.at = o, at
		at += p.rows
	}
}

// take returns output i of a request that is done, as a tensor that the caller closes.
func (r *request) take(i int) (*tfbridge.Tensor, error) {
	first := r.parts[0].outcome
	if len(r.parts) == 1 && first.whole {
		t := first.tensors[i]
		first.tensors[i] = nil
		return t, nil
	}
	shape := first.tensors[i].Shape()
	shape[0] = 0
	for _, p := range r.parts {
		if got := p.outcome.tensors[i].Shape(); !slices.Equal(got[1:], shape[1:]) {
			return nil, millrace.Errorf(millrace.ErrModel, "a request was split, and its parts have results of rows of shape %v and %v", shape[1:], got[1:])
		}
		shape[0] += p.rows
	}
	row := elements(shape[1:])
	return filled(first.tensors[i].DataType(), shape, func(to *tfbridge.Tensor) error {
		at := int64(0)
		for _, p := range r.parts {
			if err := to.CopyElements(at, p.outcome.tensors[i], p.at*row, p.rows*row); err != nil {
				return err
			}
			at += p.rows * row
		}
		return nil
	})
}
