package estimator

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"millrace"
	"millrace/estimator/checkpoint"
	"millrace/graph"
	"millrace/observe"
	"millrace/tfbridge"
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

// Load loads the model. TensorFlow checks the values of the variables as it
// restores them; if one is damaged, Load reads them again to say which.
func (m *CheckedModel) Load() (*Model, error) { return m.LoadContext(context.Background()) }

// LoadContext is Load that returns when ctx is done, with an error of class
// millrace.ErrCanceled. A load that TensorFlow cannot stop finishes in the background, and
// its model is closed.
func (m *CheckedModel) LoadContext(ctx context.Context) (*Model, error) {
	start := time.Now()
	o := m.options.graph(m.session())
	o.Place, o.Blank = m.place, m.blank
	loaded, err := graph.LoadCheckedContext(ctx, m.saved, o)
	if err != nil {
		return nil, err
	}
	model := &Model{CheckedModel: m, model: loaded, building: make(chan struct{}, 1), opened: time.Now()}
	if l := m.options.Observe; l != nil && l.Opened != nil {
		l.Opened(observe.Opened{Source: m.dir, Duration: model.opened.Sub(start)})
	}
	return model, nil
}

// smallModel is the largest size of a model's variables, in bytes, at which
// each operation runs on a single thread. Splitting so little work over several
// threads costs more than it saves (docs/performance.md). The input pipeline
// uses the other threads.
const smallModel = 1 << 20

// session returns the session options. If the caller set none, the size of the
// model decides.
func (m *CheckedModel) session() *tfbridge.SessionOptions {
	if m.options.Session != nil {
		return m.options.Session
	}
	var bytes int64
	for _, v := range m.saved.Variables {
		bytes += v.Bytes
	}
	if bytes > smallModel {
		return nil
	}
	return &tfbridge.SessionOptions{IntraOpThreads: 1, SoftPlacement: true}
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

// GraphDef returns the model's graph with all pipelines that were joined to it, a
// serialized tensorflow.GraphDef.
func (m *Model) GraphDef(ctx context.Context) ([]byte, error) {
	if err := m.lockGraph(ctx); err != nil {
		return nil, err
	}
	defer m.unlockGraph()
	var def bytes.Buffer
	if _, err := m.model.Graph().WriteTo(&def); err != nil {
		return nil, err
	}
	return def.Bytes(), nil
}
