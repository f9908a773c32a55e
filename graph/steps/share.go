package steps

import (
	"context"

	"millrace/tfbridge"
)

// Share is a part of the batches of an input that several processes read: each takes every
// Of-th. Rank 0 takes the last one of each Of, so that a state after its batch is one in which
// each process continues with the batch that is its own. Batches of others are read and skipped.
type Share struct{ Of, Rank int64 }

// skips returns how many batches to skip before a step.
func (s Share) skips(step int64) int64 {
	switch {
	case s.Of <= 1:
		return 0
	case step == 0:
		return (s.Rank + s.Of - 1) % s.Of
	}
	return s.Of - 1
}

// prepareSkip makes the session run that takes a batch for another process.
func (r *run) prepareSkip() (err error) {
	in := &r.pipe.input
	outputs := []tfbridge.Output{in.Rows}
	if in.Rows.Op == nil {
		outputs[0] = in.Tensors[0].Output
	}
	if in.Positions.Op != nil {
		outputs = append(outputs, in.Positions)
	}
	r.skip, err = r.sess.Prepare(in.Placeholders, outputs, nil)
	return err
}

// skipBatch takes a batch without a step. The input is then where it would be after one.
func (r *run) skipBatch(ctx context.Context) error {
	for {
		values, err := r.pass.Next(ctx)
		if err != nil {
			return err
		}
		tensors, err := r.skip.Run(context.Background(), values)
		if err == nil {
			return r.skipped(tensors)
		}
		if final := r.pass.Failed(ctx, err); final != nil {
			return r.observe.Fault(r.o.Source, final)
		}
		r.observe.again(r.steps+1, err)
	}
}

// skipped passes a batch that was skipped to the pass.
func (r *run) skipped(tensors []*tfbridge.Tensor) error {
	defer tensors[0].Close()
	rows, err := r.rowsIn(tensors[0])
	if err == nil {
		err = r.position(tensors)
	}
	if err == nil {
		_, err = r.pass.Taken(rows)
	}
	return err
}
