package portable

import (
	"context"

	"millrace/loaders/plan"
	"millrace/loaders/run"
	"millrace/tfbridge"
)

// Explain returns the error that a run here has where the graph of a plan failed in another
// process: the same place, the same words. The code and the message are TensorFlow's there. It
// reads the data files again where the message has no place.
func Explain(ctx context.Context, p *plan.Plan, scan *plan.Scan, code tfbridge.Code, msg string) (failure error) {
	err := withPipeline(p, scan, func(pl *run.Pipeline) error {
		failure = pl.Explain(ctx, tfbridge.Failure("TF_SessionRun", code, msg))
		return nil
	})
	if err != nil {
		return err
	}
	return failure
}
