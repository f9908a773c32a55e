package training

import (
	"context"
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

// Servers returns what a step needs to know of parameter servers; nil without.
func (o *Options) Servers() *trainstep.Servers {
	if o.Cluster == nil {
		return nil
	}
	return o.Cluster.ServersOfStep()
}

// peers are the processes that train together; none if this one trains alone.
type peers struct {
	*cluster.Member
	fill bool // the parameter servers have no variables yet, or lost them, and this process sets them
}

// async reports whether the processes train by parameter servers.
func (p peers) async() bool { return p.Member != nil && p.Async() }

// keeps reports whether the variables must stay as they are, because parameter servers have
// them already.
func (p peers) keeps() bool { return p.async() && !p.fill }

// follow reports whether another process writes the checkpoints.
func (p peers) follow() bool { return p.Member != nil && p.Rank > 0 }

// agree waits for the others, and makes sure that all are about to make the same steps.
func (p peers) agree(ctx context.Context, step int64, facts map[string]string) error {
	if p.Member == nil {
		return nil
	}
	return p.error(step, p.Compare(ctx, facts))
}

// begin waits for the others, and makes sure that all are about to train the same. With
// parameter servers it returns the number of steps that all have made.
func (p peers) begin(ctx context.Context, step int64, facts map[string]string) (int64, error) {
	if !p.async() {
		return step, p.agree(ctx, step, facts)
	}
	return p.Begin(ctx, facts, p.fill, step)
}

// end returns when all processes have made their last step: all variables then have their last
// values. It notes which have not come so far, and lets them continue unless stop is set.
func (p peers) end(ctx context.Context, stop bool, note func(string)) error {
	if !p.async() || p.Rank > 0 {
		return nil
	}
	if stop {
		if err := p.Stop(ctx); err != nil {
			return err
		}
	}
	notes, err := p.WaitLeft(ctx)
	for _, text := range notes {
		note(text)
	}
	return err
}

// updates returns the number of steps of all processes after the step of a batch, and whether
// the training is to end; ok is false without parameter servers.
func (p peers) updates(batch *steps.Batch) (n int64, stop, ok bool) {
	t := batch.Tensor(UpdatesName)
	if t == nil {
		return 0, false, false
	}
	n, _ = t.Value().(int64)
	flag, _ := batch.Tensor(StopName).Value().(int64)
	return n, flag != 0, true
}

// error is the error of a run that needs the other processes.
func (p peers) error(step int64, err error) error {
	if p.Member == nil || !p.Failed(err) {
		return err
	}
	return millrace.Errorf(millrace.ErrPeer, "after step %d, %s: another process of the cluster failed or did not answer; start all processes again, and they continue from the last checkpoint: %w", step, &p.Spec, err)
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
