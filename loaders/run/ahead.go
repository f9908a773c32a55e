package run

import "millrace/graph/steps"

// Work that a run that only reads does itself, in place of tf.data: see
// [engine.Choice.JoinsBatches].

// readsOnly reports whether the steps of a run only take batches ahead of the loop.
func readsOnly(o *steps.Options) bool {
	return o.Gate == nil && o.Fetch == nil && o.Trace == nil && o.Lock == nil && !o.OnDemand
}

// ahead returns the options of a run that makes as many steps ahead as the plan
// prefetches batches, if it may.
func (pl *Pipeline) ahead(o *steps.Options) *steps.Options {
	if o == nil {
		o = &steps.Options{}
	}
	if !pl.Plan.Engine().RunPrefetches() || !readsOnly(o) {
		return o
	}
	run := *o
	run.Ahead = max(run.Ahead, int(pl.Plan.Prefetch)+1) // the producer holds one more
	return &run
}

// prefetched returns how many elements tf.data prepares ahead in a run: the plan's
// number, unless the run itself makes so many steps ahead.
func (pl *Pipeline) prefetched(o *steps.Options) int64 {
	if pl.Plan.Engine().RunPrefetches() && readsOnly(o) && int64(o.Ahead) > pl.Plan.Prefetch {
		return 0
	}
	return pl.Plan.Prefetch
}
