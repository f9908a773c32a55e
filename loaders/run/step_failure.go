package run

import (
	"context"
	"errors"

	"millrace"
	"millrace/loaders/build"
	"millrace/loaders/stage/check"
	"millrace/tfrecord"
)

// findStep returns an error about the first record, in the order of the files, that a
// processing step cannot be carried out on: an image that does not decode, or is smaller than
// a crop. TensorFlow's message about a batch names no record. It returns nil if it finds none.
func (pl *Pipeline) findStep(ctx context.Context) error {
	p := pl.Plan
	steps := build.NewStepCheck(p)
	if steps == nil {
		return nil
	}
	defer steps.Close() // it only reads
	for i, f := range p.Files {
		if f.Remote {
			continue
		}
		err := check.EachRecord(ctx, p.Spec, i, pl.Scan.Indexes[i], func(r tfrecord.Record) (bool, error) {
			return true, steps.Check(r.Data)
		})
		var bad *millrace.Error
		if errors.As(err, &bad) && bad.Key != "" {
			return check.Blame(p.Spec, err)
		}
	}
	return nil
}
