package estimator

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"millrace"
	"millrace/estimator/checkpoint"
	"millrace/graph"
	"millrace/observe"
)

// Model is a loaded SavedModel: a graph, and a session that holds the
// variables. All its signatures and pipelines share the graph and the session.
// [Model.Close] frees them.
//
// A model is a program. It is checked before TensorFlow loads it: operations
// that touch files or the network are refused unless they are allowed. This
// check is not a sandbox.
//
// Methods may be called concurrently, and pipelines of one model may run at the
// same time, under these rules:
//
//   - Joins run one after the other, because a join changes the graph. Pipelines may run during a join.
//   - Only one loop at a time may run a pipeline; a second loop gets an error.
//   - Steps of signatures that only read variables run at the same time.
//   - A step of a signature that changes variables runs alone: it waits for the
//     other steps, and others wait for it. Such steps never run ahead of
//     the loop, so that between two iterations the variables are as the
//     steps that the loop has seen left them.
//   - Close may be called at any time: running loops end with an error.
type Model struct {
	*CheckedModel
	model *graph.Model

	variables sync.RWMutex       // held by each step, for writing if it changes variables
	building  chan struct{}      // a lock: holds an element while a join changes the graph
	joined    int                // number of pipelines in the graph; guarded by building
	access    *checkpoint.Values // reads and sets the variables; nil: not needed yet; guarded by building

	opened time.Time
	closed atomic.Bool // whether Close has notified the listener
}

// LoadModel checks and loads the SavedModel in dir: [ReadModel], then
// [CheckedModel.Load].
func LoadModel(dir string, o *ModelOptions) (*Model, error) {
	checked, err := ReadModel(dir, o)
	if err != nil {
		return nil, err
	}
	return checked.Load()
}

// LoadModelContext is LoadModel that returns when ctx is done: [ReadModel], then
// [CheckedModel.LoadContext].
func LoadModelContext(ctx context.Context, dir string, o *ModelOptions) (*Model, error) {
	checked, err := ReadModel(dir, o)
	if err != nil {
		return nil, err
	}
	return checked.LoadContext(ctx)
}

// lockGraph locks the graph for changes. It fails when ctx is done.
func (m *Model) lockGraph(ctx context.Context) error {
	select {
	case m.building <- struct{}{}:
		return nil
	case <-ctx.Done():
		return millrace.Canceled(ctx, "")
	}
}

func (m *Model) unlockGraph() { <-m.building }

// Close frees the model and its pipelines. It is idempotent.
func (m *Model) Close() error {
	err := m.model.Close()
	if l := m.options.Observe; l != nil && l.Closed != nil && !m.closed.Swap(true) {
		l.Closed(observe.Closed{Source: m.dir, Duration: time.Since(m.opened), Err: err})
	}
	return err
}
