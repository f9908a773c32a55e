package mixing

import (
	"context"
	"os"

	"millrace"
	"millrace/loaders"
	"millrace/loaders/stage/order"
	"millrace/tfbridge"
)

// epochOrder returns the indices of the records of the first epoch, in the order in
// which the loader delivers them. Records are numbered over all files.
func epochOrder(ctx context.Context, plan *loaders.Plan, scan *loaders.Scan, runtime *tfbridge.RuntimeOptions) ([]int64, error) {
	switch {
	case plan.Records != nil:
		return computedOrder(ctx, plan, scan)
	case plan.Shuffle != nil:
		return bufferOrder(ctx, plan, scan, runtime)
	}
	records, _ := scan.Records()
	order := make([]int64, records)
	for i := range order {
		order[i] = int64(i)
	}
	return order, nil
}

// computedOrder returns the order of a plan that reads records by their location.
func computedOrder(ctx context.Context, plan *loaders.Plan, scan *loaders.Scan) ([]int64, error) {
	starts := fileStarts(plan, scan)
	computed := order.New(plan.Spec, scan)
	order := make([]int64, computed.EpochRecords())
	for i := range order {
		if i%contextEvery == 0 && ctx.Err() != nil {
			return nil, millrace.Canceled(ctx, "measuring")
		}
		at := computed.At(int64(i))
		order[i] = starts[at.File] + at.Record
	}
	return order, nil
}

// bufferOrder returns the order of a plan that shuffles in buffers. TensorFlow shuffles
// a copy of the dataset.
func bufferOrder(ctx context.Context, plan *loaders.Plan, scan *loaders.Scan, runtime *tfbridge.RuntimeOptions) (order []int64, err error) {
	dir, err := os.MkdirTemp("", "millrace-shuffle-")
	if err != nil {
		return nil, copyError(err)
	}
	defer func() {
		if removed := os.RemoveAll(dir); err == nil {
			err = copyError(removed)
		}
	}()
	config, err := writeCopy(ctx, dir, plan, scan)
	if err != nil {
		return nil, err
	}
	loader, err := loaders.Open(config, &loaders.Options{Runtime: runtime, Check: &loaders.CheckOptions{Runtime: runtime}})
	if err != nil {
		return nil, err
	}
	defer loader.Close()
	for batch, err := range loader.Batches(ctx) {
		if err != nil {
			return nil, err
		}
		order = append(order, batch.Tensor(numberFeature).Value().([]int64)...)
	}
	return order, nil
}
