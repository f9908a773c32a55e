package dataset

import (
	"context"
	"fmt"
	"strings"

	"millrace"
	"millrace/tfbridge"
)

// SaveState returns the position of an iterator, with all that its datasets
// have buffered, for [Iterator.RestoreState]. It fails if part of the dataset
// cannot be restored. Elements fetched so far are not part of it. It waits for
// a fetch of Next in flight.
func (it *Iterator) SaveState(ctx context.Context, sess *tfbridge.Session) ([]byte, error) {
	saved, err := sess.RunContext(ctx, nil, []tfbridge.Output{it.state}, nil)
	if err != nil && strings.Contains(err.Error(), tfbridge.OpGo+" is stateful") {
		return nil, millrace.Errorf(millrace.ErrModel, "save iterator: it calls Go, and nobody said that the calls can be repeated: see SeqOptions.Replayable and graph.GoFunc.Pure: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("save iterator: %w", err)
	}
	defer saved[0].Close()
	state, err := saved[0].StringAt(0)
	if err != nil {
		return nil, fmt.Errorf("save iterator: %w", err)
	}
	return []byte(state), nil
}

// RestoreState puts an iterator where [Iterator.SaveState] found it, perhaps
// in another process. The graph must be built in the same way, and Init must
// have run. After a failure run Init again before anything else.
func (it *Iterator) RestoreState(ctx context.Context, sess *tfbridge.Session, state []byte) error {
	t, err := tfbridge.NewStringTensor(nil, [][]byte{state})
	if err != nil {
		return fmt.Errorf("restore iterator: %w", err)
	}
	defer t.Close()
	feeds := map[tfbridge.Output]*tfbridge.Tensor{it.restored: t}
	if _, err := sess.RunContext(ctx, feeds, nil, []*tfbridge.Operation{it.restore}); err != nil {
		return fmt.Errorf("restore iterator: %w", err)
	}
	return nil
}
