package batching

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// doubler is a model that doubles x. It records the shapes of its runs. Each run waits
// at a gate, so a test decides when the next run ends.
type doubler struct {
	shape tfbridge.Shape // shape of x and y
	dtype tfbridge.DataType
	began chan string   // nil: runs are not announced
	gate  chan struct{} // nil: open
	fail  func(x *tfbridge.Tensor) error
	name  string

	mu     sync.Mutex
	shapes [][]int64
}

func (d *doubler) Signatures() map[string]tfbridge.Signature {
	info := tfbridge.TensorInfo{DType: d.dtype, Shape: d.shape}
	return map[string]tfbridge.Signature{"serving_default": {
		Inputs: map[string]tfbridge.TensorInfo{"x": info}, Outputs: map[string]tfbridge.TensorInfo{"y": info},
	}}
}

func (d *doubler) Call(ctx context.Context, key string, inputs map[string]any, outputs ...string) (map[string]*tfbridge.Tensor, error) {
	x := inputs["x"].(*tfbridge.Tensor)
	d.mu.Lock()
	d.shapes = append(d.shapes, x.Shape())
	d.mu.Unlock()
	if d.began != nil {
		d.began <- d.name
	}
	if d.gate != nil {
		select {
		case <-d.gate:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if d.fail != nil {
		if err := d.fail(x); err != nil {
			return nil, err
		}
	}
	y, err := tfbridge.AllocateTensor(x.DataType(), x.Shape())
	if err != nil {
		return nil, err
	}
	if d.dtype == tfbridge.String {
		return map[string]*tfbridge.Tensor{"y": y}, y.CopyElements(0, x, 0, x.NumElements())
	}
	from, _ := tfbridge.View[float32](x)
	to, _ := tfbridge.View[float32](y)
	for i, v := range from {
		to[i] = 2 * v
	}
	return map[string]*tfbridge.Tensor{"y": y}, nil
}

// batches returns the numbers of rows of the model's runs.
func (d *doubler) batches() []int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	var rows []int64
	for _, shape := range d.shapes {
		rows = append(rows, shape[0])
	}
	return rows
}

// gated returns a doubler of vectors whose runs wait.
func gated() *doubler {
	return &doubler{dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1), began: make(chan string, 100), gate: make(chan struct{}, 100)}
}

// answer is a result of Predict.
type answer struct {
	values []float32
	err    error
}

// ask calls Predict in a goroutine.
func ask(ctx context.Context, b *Batcher, x any) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		outputs, err := b.Predict(ctx, map[string]any{"x": x})
		if err != nil {
			got <- answer{err: err}
			return
		}
		y := outputs["y"]
		v, err := tfbridge.View[float32](y)
		a := answer{values: slices.Clone(v), err: err}
		y.Close()
		got <- a
	}()
	return got
}

// waitFor returns when the given number of requests wait.
func waitFor(b *Batcher, requests int) {
	for {
		if n, _ := b.Waiting(); n == requests {
			return
		}
		runtime.Gosched()
	}
}

// newBatcher returns a greedy batcher with one thread.
func newBatcher(t *testing.T, m Model, o Options) *Batcher {
	t.Helper()
	testruntime.Need(t)
	if o.Scheduler == nil {
		o.Scheduler = NewScheduler(1)
	}
	o.Greedy = true
	b, err := New(m, "", &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}
