package estimator

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"millrace"
	"millrace/graph"
	"millrace/observe"
)

// Model is a loaded SavedModel: a graph, and a session that holds the
// variables. All its signatures and everything that is joined to them share the
// two. [Model.Close] frees them.
//
// A model is a program: it is checked before TensorFlow sees it, and operations
// that touch files or the network are refused unless allowed, but that is no
// sandbox.
//
// Methods may be called concurrently, and pipelines of one model may run at the
// same time, under these rules:
//
//   - Joins take turns, since a join changes the graph. Runs go on meanwhile.
//   - One pipeline is run by one loop at a time; a second loop gets an error.
//   - Steps of signatures that only read variables run at the same time.
//   - A step of a signature that changes variables runs alone: it waits for the
//     other steps, and others wait for it. Such steps are never made ahead of
//     the loop, so that between two iterations the variables are those of the
//     steps that the loop has seen.
//   - Close may come at any time: loops end with an error.
type Model struct {
	*CheckedModel
	model *graph.Model

	variables sync.RWMutex  // held by each step, for writing if it changes variables
	building  chan struct{} // holds an element while the graph is added to
	joined    int           // pipelines in the graph; guarded by building

	opened time.Time
	closed atomic.Bool // whether closing was told
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

// lockGraph makes the caller the only one who adds to the graph.
func (m *Model) lockGraph(ctx context.Context) error {
	select {
	case m.building <- struct{}{}:
		return nil
	case <-ctx.Done():
		return millrace.Canceled(ctx, "")
	}
}

func (m *Model) unlockGraph() { <-m.building }

// Close frees the model and all that is joined to it. It is idempotent.
func (m *Model) Close() error {
	err := m.model.Close()
	if l := m.options.Observe; l != nil && l.Closed != nil && !m.closed.Swap(true) {
		l.Closed(observe.Closed{Source: m.dir, Duration: time.Since(m.opened), Err: err})
	}
	return err
}
