package run

import (
	"context"
	"errors"

	"millrace/tfbridge"
)

// runProbe returns an error if an endless loader gives no window.
func (pl *Pipeline) runProbe(ctx context.Context, sess *tfbridge.Session) error {
	if pl.Probe == nil {
		return nil
	}
	group, err := tfbridge.NewTensor(pl.GroupSize)
	if err != nil {
		return err
	}
	defer group.Close()
	feeds := map[tfbridge.Output]*tfbridge.Tensor{pl.Group: group}
	if _, err := sess.RunContext(ctx, feeds, nil, []*tfbridge.Operation{pl.Probe.Init}); err != nil {
		return pl.explain(ctx, err)
	}
	_, err = sess.RunContext(ctx, nil, nil, []*tfbridge.Operation{pl.Probe.Next[0].Op})
	if errors.Is(err, tfbridge.OutOfRange) {
		if pl.Plan.Window == nil {
			return pl.Plan.NoRecords()
		}
		return pl.Plan.NoWindow()
	}
	if err != nil {
		return pl.explain(ctx, err)
	}
	return nil
}
