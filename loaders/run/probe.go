package run

import (
	"context"
	"errors"

	"millrace/tfbridge"
)

// runProbe looks for the first example. It reports whether no epoch has an example. For
// an endless loader that is an error.
func (pl *Pipeline) runProbe(ctx context.Context, sess *tfbridge.Session) (empty bool, err error) {
	if pl.Probe == nil {
		return false, nil
	}
	group, err := tfbridge.NewTensor(pl.GroupSize)
	if err != nil {
		return false, err
	}
	defer group.Close()
	feeds := map[tfbridge.Output]*tfbridge.Tensor{pl.Group: group}
	if _, err := sess.RunContext(ctx, feeds, nil, []*tfbridge.Operation{pl.Probe.Init}); err != nil {
		return false, pl.explain(ctx, err)
	}
	_, err = sess.RunContext(ctx, nil, nil, []*tfbridge.Operation{pl.Probe.Element[0].Op})
	switch {
	case err == nil:
		return false, nil
	case !errors.Is(err, tfbridge.OutOfRange):
		return false, pl.explain(ctx, err)
	case pl.Plan.Epochs > 0:
		return true, nil
	}
	return true, pl.Plan.NoData()
}
