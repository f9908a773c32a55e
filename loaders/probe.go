package loaders

import (
	"context"
	"errors"

	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// An endless loader whose files are all too short for a window would look for
// one for ever. Files that Go can read are measured by [Plan.Scan]; for others
// a probe looks for the first window before the first batch.

// addProbe adds an iterator over the first window of the first epoch, nil if
// there is no need for one. It keeps windows that the end of a file cuts
// short, since in a later epoch they may be drawn shorter.
func (b *builder) addProbe() *dataset.Iterator {
	if b.plan.Epochs > 0 || b.plan.Window == nil || !b.plan.remote() {
		return nil
	}
	plan, window := *b.plan, *b.plan.Window
	plan.Window, plan.Shuffle, window.Tail = &window, nil, ""
	first := &builder{plan: &plan, scan: b.scan, scope: b.scope.SubScope("probe"), group: b.group}
	d := first.pass(first.scope, first.scope.Const(int64(0))).Take(1)
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
		return pl.Plan.windowless()
	}
	if err != nil {
		return pl.explain(ctx, err)
	}
	return nil
}
