package batching

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"millrace/graph"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// summer is a model of an input x of any shape and an input factor, whose output y is
// factor times the sum of x: of each row if rows is true, and one number otherwise.
type summer struct {
	rows   bool
	inputs map[string]tfbridge.Shape
	began  chan string
	gate   chan struct{}

	mu    sync.Mutex
	calls []string // shapes of x, sorted by call
}

func (s *summer) Signatures() map[string]tfbridge.Signature {
	sig := tfbridge.Signature{Inputs: map[string]tfbridge.TensorInfo{}, Outputs: map[string]tfbridge.TensorInfo{"y": {DType: tfbridge.Float, Shape: tfbridge.Shape{}}}}
	for name, shape := range s.inputs {
		sig.Inputs[name] = tfbridge.TensorInfo{DType: tfbridge.Float, Shape: shape}
	}
	return map[string]tfbridge.Signature{graph.DefaultSignature: sig}
}

func (s *summer) Call(_ context.Context, _ string, inputs map[string]any, _ ...string) (map[string]*tfbridge.Tensor, error) {
	x := inputs["x"].(*tfbridge.Tensor)
	s.mu.Lock()
	s.calls = append(s.calls, fmt.Sprint(x.Shape()))
	s.mu.Unlock()
	if s.began != nil {
		s.began <- ""
		<-s.gate
	}
	values, err := tfbridge.View[float32](x)
	if err != nil {
		return nil, err
	}
	factor := float32(1)
	if f, ok := inputs["factor"].(*tfbridge.Tensor); ok {
		v, err := tfbridge.View[float32](f)
		if err != nil {
			return nil, err
		}
		factor = v[0]
	}
	sums := make([]float32, 1)
	if s.rows {
		sums = make([]float32, x.Shape()[0])
	}
	for i, v := range values {
		sums[i*len(sums)/len(values)] += factor * v
	}
	var y *tfbridge.Tensor
	if s.rows {
		y, err = tfbridge.NewTensor(sums)
	} else {
		y, err = tfbridge.NewTensor(sums[0])
	}
	return map[string]*tfbridge.Tensor{"y": y}, err
}

// question is a request and the model's answer without batching.
type question struct {
	inputs map[string]any
	want   []float32
}

// askAll sends the questions while the model's first run, of an x of one row, waits. It
// compares the answers, and returns the shapes of the model's runs.
func (s *summer) askAll(t *testing.T, o Options, questions []question) []string {
	t.Helper()
	s.began, s.gate = make(chan string, 100), make(chan struct{}, 100)
	b := newBatcher(t, s, o)
	var group sync.WaitGroup
	for i, q := range questions {
		group.Go(func() {
			outputs, err := b.Predict(t.Context(), q.inputs)
			if err != nil {
				t.Errorf("request %d: %v", i, err)
				return
			}
			defer outputs["y"].Close()
			if got, err := tfbridge.View[float32](outputs["y"]); err != nil || !slices.Equal(got, q.want) {
				t.Errorf("request %d: got %v, %v, want %v", i, got, err, q.want)
			}
		})
		if i == 0 {
			<-s.began
		} else {
			waitFor(b, i)
		}
	}
	close(s.gate)
	group.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Every request that works without batching works with it: requests that cannot share a
// batch run alone, unchanged, and the others share batches.
func TestAlone(t *testing.T) {
	anyShape := map[string]tfbridge.Shape{"x": {}}
	one := question{map[string]any{"x": []float32{1}}, []float32{1}}
	tests := []struct {
		name   string
		model  *summer
		o      Options
		asked  []question
		shapes []string // one for each run
	}{
		{"scalars", &summer{inputs: anyShape}, Options{AllowedBatchSizes: []int{4}, MaxBatchSize: 4},
			[]question{{map[string]any{"x": float32(5)}, []float32{5}}, {map[string]any{"x": float32(6)}, []float32{6}}}, []string{"[4]", "[1]", "[]", "[]"}},
		{"more than a batch", &summer{rows: true, inputs: anyShape}, Options{MaxBatchSize: 2, AllowedBatchSizes: []int{2}},
			[]question{one, {map[string]any{"x": []float32{1, 2, 3}}, []float32{1, 2, 3}}, one}, []string{"[2]", "[2]", "[3]"}},
		{"more than the queue", &summer{rows: true, inputs: anyShape}, Options{MaxBatchSize: 1, MaxEnqueuedBatches: 1},
			[]question{{map[string]any{"x": []float32{1, 2, 3}}, []float32{1, 2, 3}}}, []string{"[1]", "[3]"}},
		{"another shape than the signature's", &summer{rows: true, inputs: map[string]tfbridge.Shape{"x": tfbridge.MakeShape(-1, -1, 1)}}, Options{PadVariableLengthInputs: true},
			[]question{{map[string]any{"x": [][][]float32{{{1}}}}, []float32{1}}, {map[string]any{"x": [][][]float32{{{1, 2}}}}, []float32{3}}, {map[string]any{"x": [][]float32{{4}}}, []float32{4}}},
			[]string{"[1]", "[1 1 1]", "[1 1 2]", "[1 1]"}},
		{"outputs without rows", &summer{inputs: anyShape}, Options{},
			[]question{{map[string]any{"x": []float32{1, 2}}, []float32{3}}, {map[string]any{"x": []float32{3}}, []float32{3}}}, []string{"[1]", "[3]", "[2]", "[1]"}},
		{"inputs of different rows, as of ragged tensors", &summer{inputs: map[string]tfbridge.Shape{"x": tfbridge.MakeShape(-1), "factor": tfbridge.MakeShape(-1)}}, Options{},
			[]question{{map[string]any{"x": []float32{1, 2, 3}, "factor": []float32{2, 0}}, []float32{12}}, {map[string]any{"x": []float32{1, 2, 3}, "factor": []float32{3, 0}}, []float32{18}}},
			[]string{"[1]", "[3]", "[3]"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			testruntime.Need(t)
			first := one
			if _, ok := tt.model.inputs["factor"]; ok {
				first = question{map[string]any{"x": []float32{1}, "factor": []float32{1}}, []float32{1}}
			}
			if got := tt.model.askAll(t, tt.o, append([]question{first}, tt.asked...)); !slices.Equal(got, tt.shapes) {
				t.Errorf("the model ran on shapes %v, want %v", got, tt.shapes)
			}
		})
	}
}

// After a batch whose outputs had no rows, no request is joined with another.
func TestApart(t *testing.T) {
	testruntime.Need(t)
	m := &summer{inputs: map[string]tfbridge.Shape{"x": {}}, began: make(chan string, 10), gate: make(chan struct{}, 10)}
	b := newBatcher(t, m, Options{})
	for _, want := range []string{"[[1] [2] [1] [1]]", "[[1] [1] [1]]"} {
		m.calls = nil
		var group sync.WaitGroup
		for i := range 3 {
			group.Go(func() {
				outputs, err := b.Predict(t.Context(), map[string]any{"x": []float32{1}})
				if err != nil {
					t.Error(err)
				}
				outputs["y"].Close()
			})
			if i == 0 {
				<-m.began
			} else {
				waitFor(b, i)
			}
		}
		for range cap(m.gate) {
			m.gate <- struct{}{}
		}
		group.Wait()
		for len(m.gate) > 0 {
			<-m.gate
		}
		for len(m.began) > 0 {
			<-m.began
		}
		if got := fmt.Sprint(m.calls); got != want {
			t.Errorf("the model ran on shapes %s, want %s", got, want)
		}
	}
}

// Requests with equal shared inputs share a batch, which has these inputs once.
// Requests with other values are in another batch.
func TestSharedInputs(t *testing.T) {
	testruntime.Need(t)
	m := &summer{rows: true, inputs: map[string]tfbridge.Shape{"x": tfbridge.MakeShape(-1), "factor": tfbridge.ScalarShape()}}
	q := func(factor float32, x ...float32) question {
		want := slices.Clone(x)
		for i := range want {
			want[i] *= factor
		}
		return question{map[string]any{"x": x, "factor": factor}, want}
	}
	got := m.askAll(t, Options{SharedInputs: []string{"factor", "of another signature"}, AllowedBatchSizes: []int{1, 4}, MaxBatchSize: 4},
		[]question{q(1, 1), q(2, 1, 2), q(3, 5), q(2, 7)})
	if want := []string{"[1]", "[4]", "[1]"}; !slices.Equal(got, want) {
		t.Errorf("the model ran on shapes %v, want %v", got, want)
	}
	if _, err := New(m, "", &Options{SharedInputs: []string{"factor", "x"}}); err == nil {
		t.Error("a signature of shared inputs alone has a batcher")
	}
}

// An operand fits a shape of its rank whose known dimensions, but for the rows, it has.
func TestFits(t *testing.T) {
	o := &operand{shape: []int64{2, 3}}
	for _, tt := range []struct {
		shape tfbridge.Shape
		want  bool
	}{
		{tfbridge.Shape{}, true}, {tfbridge.MakeShape(-1, -1), true}, {tfbridge.MakeShape(7, 3), true},
		{tfbridge.ScalarShape(), false}, {tfbridge.MakeShape(-1), false}, {tfbridge.MakeShape(-1, 2), false},
	} {
		if got := o.fits(tt.shape); got != tt.want {
			t.Errorf("%v fits %v: %v", o.shape, tt.shape, got)
		}
	}
}
