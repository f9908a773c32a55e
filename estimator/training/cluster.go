package training

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"millrace"
	"millrace/estimator/cluster"
	"millrace/estimator/trainstep"
	"millrace/graph/steps"
	"millrace/tfbridge"
)

// Replica returns what a step needs to know of the cluster; nil without a cluster.
func (o *Options) Replica() *trainstep.Replica {
	if o.Cluster == nil {
		return nil
	}
	return o.Cluster.Replica()
}

// peers are the processes that train together; none if this one trains alone.
type peers struct{ *cluster.Member }

// follow reports whether another process writes the checkpoints.
func (p peers) follow() bool { return p.Member != nil && p.Rank > 0 }

// agree waits for the others, and makes sure that all are about to make the same steps.
func (p peers) agree(ctx context.Context, step int64, facts map[string]string) error {
	if p.Member == nil {
		return nil
	}
	return p.error(step, p.Compare(ctx, facts))
}

// error is the error of a run that needs the other processes. TensorFlow reports in several
// ways that one is gone, as it stops a step wherever it was.
func (p peers) error(step int64, err error) error {
	var failed *tfbridge.Error
	if p.Member == nil || !errors.As(err, &failed) {
		return err
	}
	switch failed.Code {
	case tfbridge.Cancelled, tfbridge.DeadlineExceeded, tfbridge.FailedPrecondition, tfbridge.Aborted, tfbridge.Internal, tfbridge.Unavailable:
		return millrace.Errorf(millrace.ErrPeer, "after step %d, %s: another process of the cluster failed or did not answer; start all processes again, and they continue from the last checkpoint: %w", step, &p.Spec, err)
	}
	return err
}

// seconds returns how long each process took for its part of a step, by rank; nil without
// a cluster.
func (p peers) seconds(batch *steps.Batch) ([]float32, error) {
	t := batch.Tensor(WorkerSecondsName)
	if t == nil {
		return nil, nil
	}
	return tfbridge.View[float32](t)
}

// slow describes the process that the others wait for: one that takes at least half as long
// again as the next one, where that is a tenth of the time of the steps or more. It returns
// "" if there is none.
func (p peers) slow(progress *Progress) string {
	if len(progress.WorkerSeconds) < 2 {
		return ""
	}
	sorted := slices.Sorted(slices.Values(progress.WorkerSeconds))
	slowest, next := sorted[len(sorted)-1], sorted[len(sorted)-2]
	if slowest < 1.5*next || slowest-next < 0.1*progress.Duration.Seconds() {
		return ""
	}
	rank, n := slices.Index(progress.WorkerSeconds, slowest), float64(progress.Steps)
	return fmt.Sprintf("the other processes wait for worker %d (%s): its part of a step takes %.3g s, and that of each other one at most %.3g s", rank, p.Workers[rank], slowest/n, next/n)
}
