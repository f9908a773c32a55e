package loaders

import (
	"context"
	"errors"

	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// An endless loader over files without records, or too short for a window,
// would look for the first one for ever. Files that Go can read are measured
// by [Plan.Scan]; for others a probe looks for it before the first batch.

// addProbe adds an iterator over the first window or record of the first
// epoch, nil if there is no need for one. It keeps windows that the end of a
// file cuts short, since in a later epoch they may be drawn shorter.
func (b *builder) addProbe() *dataset.Iterator {
	switch {
	case b.plan.Epochs > 0 || !b.plan.remote():
		return nil
	case b.plan.Window == nil && b.plan.Shuffle == nil:
		return nil // RepeatDataset ends by itself
	case b.plan.Window == nil:
		probe := &builder{plan: b.plan, scan: b.scan, scope: b.scope.SubScope("probe")}
		return probe.joined().Take(1).Iterator("iterator")
	}
	plan, window := *b.plan, *b.plan.Window
	plan.Window, plan.Shuffle = &window, nil
	if window.Tail != tailPad {
		window.Tail = ""
	}
	first := &builder{plan: &plan, scan: b.scan, scope: b.scope.SubScope("probe"), group: b.group}
	d := first.windowPass(first.scope, first.scope.Const(int64(0))).Take(1)
	return d.Iterator("iterator")
}

// runProbe returns an error if an endless loader gives no window.
func (pl *Pipeline) runProbe(ctx context.Context, sess *tfbridge.Session) error {
	if pl.probe == nil {
		return nil
	}
	group, err := tfbridge.NewTensor(pl.groupSize)
	if err != nil {
		return err
	}
	defer group.Close()
	feeds := map[tfbridge.Output]*tfbridge.Tensor{pl.group: group}
	if _, err := sess.RunContext(ctx, feeds, nil, []*tfbridge.Operation{pl.probe.Init}); err != nil {
		return pl.explain(ctx, err)
	}
	_, err = sess.RunContext(ctx, nil, nil, []*tfbridge.Operation{pl.probe.Next[0].Op})
	if errors.Is(err, tfbridge.OutOfRange) {
		if pl.Plan.Window == nil {
			return pl.Plan.noRecords()
		}
		return pl.Plan.windowless()
	}
	if err != nil {
		return pl.explain(ctx, err)
	}
	return nil
}
