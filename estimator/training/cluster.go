package training

import (
	"context"
	"errors"

	"millrace"
	"millrace/estimator/cluster"
	"millrace/estimator/trainstep"
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
