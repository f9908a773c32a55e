package run

import "millrace/graph/steps"

// What a run that only reads does by itself, in place of tf.data: see
// [plan.Plan.JoinsBatches].

// readsOnly reports whether the steps of a run take batches ahead of the loop and do
// nothing else.
func readsOnly(o *steps.Options) bool {
	return o.Gate == nil && o.Fetch == nil && o.Trace == nil && o.Lock == nil && !o.OnDemand
}

// ahead returns the options of a run that makes as many steps ahead as the plan
// prefetches batches, where it may.
func (pl *Pipeline) ahead(o *steps.Options) *steps.Options {
	if o == nil {
		o = &steps.Options{}
	}
	if !pl.Plan.RunPrefetches() || !readsOnly(o) {
		return o
	}
	run := *o
	run.Ahead = max(run.Ahead, int(pl.Plan.Prefetch)+1) // one is in the producer's hand
	return &run
}

// prefetched returns how many elements tf.data prepares ahead in a run: all that the
// plan says, unless the run's own steps are as far ahead.
func (pl *Pipeline) prefetched(o *steps.Options) int64 {
	if pl.Plan.RunPrefetches() && readsOnly(o) && int64(o.Ahead) > pl.Plan.Prefetch {
		return 0
	}
	return pl.Plan.Prefetch
}

// groupSize returns how many records are parsed at once in a run that begins behind so
// many batches. Where elements are several batches, none goes on beyond the place of a
// state that is to be saved, nor beyond the run's last step.
func (p *pass) groupSize(begin int64) int64 {
	plan := p.pipe.Plan
	if !plan.JoinsBatches() {
		return p.pipe.GroupSize
	}
	n := plan.BatchesAtOnce()
	if p.pipe.prefetched(p.o) > 0 || p.o.Steps > 0 {
		n = 1 // what tf.data holds may be restored by a run that takes single batches
	}
	if every := p.o.SaveEvery; every > 0 {
		for every%n != 0 || begin%n != 0 {
			n--
		}
	}
	return n * plan.BatchSize
}
