package batching

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace"
	"millrace/graph"
	"millrace/internal/test/leak"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// While one batch runs, requests accumulate, and the next batch answers all of them.
func TestRequestsShareABatch(t *testing.T) {
	m := gated()
	b := newBatcher(t, m, Options{})
	first := ask(t.Context(), b, []float32{1})
	<-m.began
	second, third := ask(t.Context(), b, []float32{2, 3}), ask(t.Context(), b, []float32{4})
	waitFor(b, 2)
	close(m.gate)
	for i, tt := range []struct {
		got  <-chan answer
		want []float32
	}{{first, []float32{2}}, {second, []float32{4, 6}}, {third, []float32{8}}} {
		if a := <-tt.got; a.err != nil || !slices.Equal(a.values, tt.want) {
			t.Errorf("request %d: got %v, %v, want %v", i, a.values, a.err, tt.want)
		}
	}
	if got := m.batches(); !slices.Equal(got, []int64{1, 3}) {
		t.Errorf("batches of %v rows, want 1 and 3", got)
	}
}

func TestBatchSizes(t *testing.T) {
	split := Options{MaxBatchSize: 8, MaxExecutionBatchSize: 4, EnableLargeBatchSplitting: true}
	tests := []struct {
		name    string
		options Options
		rows    []int // rows of each request that waits while a batch of one row runs
		want    []int64
	}{
		{"as many as fit", Options{MaxBatchSize: 4}, []int{2, 2, 1}, []int64{1, 4, 1}},
		{"no request is split", Options{MaxBatchSize: 4}, []int{3, 2, 2}, []int64{1, 3, 4}},
		{"the order stays", Options{MaxBatchSize: 4}, []int{3, 4, 1}, []int64{1, 3, 4, 1}},
		{"filled up to an allowed size", Options{MaxBatchSize: 8, AllowedBatchSizes: []int{2, 4, 8}}, []int{2, 1}, []int64{2, 4}},
		{"large ones are split", split, []int{3, 6, 1}, []int64{1, 4, 4, 2}},
		{"no rows", Options{MaxBatchSize: 4}, []int{0}, []int64{1, 0}},
		{"no rows cannot fill up", Options{MaxBatchSize: 4, AllowedBatchSizes: []int{4}}, []int{0, 1}, []int64{4, 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := gated()
			b := newBatcher(t, m, tt.options)
			answers := []<-chan answer{ask(t.Context(), b, []float32{100})}
			want := [][]float32{{200}}
			<-m.began
			for i, rows := range tt.rows {
				x := make([]float32, rows)
				var doubled []float32
				for j := range x {
					x[j] = float32(10*i + j)
					doubled = append(doubled, 2*x[j])
				}
				answers, want = append(answers, ask(t.Context(), b, x)), append(want, doubled)
				waitFor(b, i+1)
			}
			close(m.gate)
			for i := range answers {
				if a := <-answers[i]; a.err != nil || !slices.Equal(a.values, want[i]) {
					t.Errorf("request %d: got %v, %v, want %v", i, a.values, a.err, want[i])
				}
			}
			if got := m.batches(); !slices.Equal(got, tt.want) {
				t.Errorf("batches of %v rows, want %v", got, tt.want)
			}
		})
	}
}

// A request waits for others up to BatchTimeout, and only until its batch is full.
func TestBatchTimeout(t *testing.T) {
	m := &doubler{dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1)}
	b := newBatcher(t, m, Options{MaxBatchSize: 2, BatchTimeout: time.Hour})
	first := ask(t.Context(), b, []float32{1})
	waitFor(b, 1)
	if a := <-ask(t.Context(), b, []float32{2}); a.err != nil || a.values[0] != 4 {
		t.Errorf("second: %v", a)
	}
	if a := <-first; a.err != nil || a.values[0] != 2 {
		t.Errorf("first: %v", a)
	}
	soon := newBatcher(t, m, Options{BatchTimeout: time.Millisecond})
	if a := <-ask(t.Context(), soon, []float32{3}); a.err != nil || a.values[0] != 6 {
		t.Errorf("alone: %v", a)
	}
}

// Requests of different shapes run in separate batches, or padded in one batch.
func TestShapes(t *testing.T) {
	for _, padded := range []bool{false, true} {
		m := gated()
		m.shape = tfbridge.MakeShape(-1, -1, 2)
		b := newBatcher(t, m, Options{PadVariableLengthInputs: padded})
		answers := []<-chan answer{ask(t.Context(), b, [][][]float32{{{1, 1}}})}
		<-m.began
		answers = append(answers, ask(t.Context(), b, [][][]float32{{{1, 2}}}))
		waitFor(b, 1)
		answers = append(answers, ask(t.Context(), b, [][][]float32{{{3, 4}, {5, 6}}}))
		waitFor(b, 2)
		answers = append(answers, ask(t.Context(), b, [][][]float32{{{7, 8}}}))
		waitFor(b, 3)
		close(m.gate)
		want := [][]float32{{2, 2}, {2, 4}, {6, 8, 10, 12}, {14, 16}}
		batches := []int64{1, 2, 1}
		if padded {
			want[1], want[3], batches = []float32{2, 4, 2, 2}, []float32{14, 16, 14, 14}, []int64{1, 3}
		}
		for i := range answers {
			if a := <-answers[i]; a.err != nil || !slices.Equal(a.values, want[i]) {
				t.Errorf("padded %v, request %d: got %v, %v, want %v", padded, i, a.values, a.err, want[i])
			}
		}
		if got := m.batches(); !slices.Equal(got, batches) {
			t.Errorf("padded %v: batches of %v rows, want %v", padded, got, batches)
		}
	}
}

// A request that leaves while it waits is not computed. A request that leaves a running
// batch gets an answer at once, and the others get theirs. A run whose requests have
// all left is interrupted, and the results of requests that left are closed.
func TestLeaving(t *testing.T) {
	testruntime.Need(t)
	noneLeft := leak.Objects(t, tfbridge.Live)
	m := gated()
	b := newBatcher(t, m, Options{})
	leaves := func() (context.Context, context.CancelFunc) { return context.WithCancel(t.Context()) }
	ctx1, cancel1 := leaves()
	first := ask(ctx1, b, []float32{1})
	<-m.began
	ctx2, cancel2 := leaves()
	second, third := ask(ctx2, b, []float32{2}), ask(t.Context(), b, []float32{3})
	waitFor(b, 2)
	cancel2()
	if a := <-second; !errors.Is(a.err, millrace.ErrCanceled) {
		t.Errorf("who left the queue got %v", a)
	}
	waitFor(b, 1)
	cancel1() // and with it the only request of the batch that runs
	if a := <-first; !errors.Is(a.err, millrace.ErrCanceled) {
		t.Errorf("who left the batch got %v", a)
	}
	<-m.began // the next batch, though the gate was never opened
	ctx4, cancel4 := leaves()
	fourth, fifth := ask(ctx4, b, []float32{4}), ask(t.Context(), b, []float32{5})
	waitFor(b, 2)
	m.gate <- struct{}{}
	if a := <-third; a.err != nil || a.values[0] != 6 {
		t.Errorf("third: %v", a)
	}
	<-m.began
	cancel4()
	if a := <-fourth; !errors.Is(a.err, millrace.ErrCanceled) {
		t.Errorf("who left a batch of two got %v", a)
	}
	m.gate <- struct{}{}
	if a := <-fifth; a.err != nil || a.values[0] != 10 {
		t.Errorf("who stayed got %v", a)
	}
	b.Close()
	noneLeft()
	if got := m.batches(); !slices.Equal(got, []int64{1, 1, 2}) {
		t.Errorf("batches of %v rows, want 1, 1 and 2", got)
	}
}

// A full queue refuses at once, and takes requests again when it has room.
func TestOverload(t *testing.T) {
	m := gated()
	b := newBatcher(t, m, Options{MaxBatchSize: 2, MaxEnqueuedBatches: 2})
	answers := []<-chan answer{ask(t.Context(), b, []float32{0})}
	<-m.began
	for i := range 4 {
		answers = append(answers, ask(t.Context(), b, []float32{float32(i)}))
	}
	waitFor(b, 4)
	if a := <-ask(t.Context(), b, []float32{5}); !errors.Is(a.err, millrace.ErrOverloaded) || !strings.Contains(a.err.Error(), "4 rows wait, 4 are allowed") {
		t.Errorf("the fifth row that waits: %v", a)
	}
	if err := b.Admit(); !errors.Is(err, millrace.ErrOverloaded) {
		t.Errorf("a full queue admits: %v", err)
	}
	close(m.gate)
	for _, got := range answers {
		if a := <-got; a.err != nil {
			t.Error(a.err)
		}
	}
	if a := <-ask(t.Context(), b, []float32{5}); a.err != nil || a.values[0] != 10 {
		t.Errorf("afterwards: %v", a)
	}
	if err := b.Admit(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A batch that fails or panics fails its own requests.
func TestFailures(t *testing.T) {
	m := gated()
	m.fail = func(x *tfbridge.Tensor) error {
		v, _ := tfbridge.View[float32](x)
		switch {
		case slices.Contains(v, -1):
			return errors.New("minus one")
		case slices.Contains(v, -2):
			panic("minus two")
		}
		return nil
	}
	var infos []BatchInfo
	b := newBatcher(t, m, Options{MaxBatchSize: 2, OnBatch: func(i BatchInfo) { infos = append(infos, i) }})
	answers := []<-chan answer{ask(t.Context(), b, []float32{0})}
	<-m.began
	for i, x := range []float32{1, -1, -2, 2, 3} {
		answers = append(answers, ask(t.Context(), b, []float32{x}))
		waitFor(b, i+1)
	}
	close(m.gate)
	for i, want := range []string{"", "minus one", "minus one", "minus two", "minus two", ""} {
		a := <-answers[i]
		if (a.err == nil) != (want == "") || a.err != nil && !strings.Contains(a.err.Error(), want) {
			t.Errorf("request %d: got %v, want %q", i, a, want)
		}
	}
	b.Close()
	if len(infos) != 4 || infos[1].Requests != 2 || infos[1].Rows != 2 || infos[1].Err == nil || infos[3].Err != nil {
		t.Errorf("told of the batches %+v", infos)
	}
}

// A split request fails as a whole, and rows that were not computed by then are
// dropped.
func TestSplitRequestFails(t *testing.T) {
	m := &doubler{dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1), fail: func(x *tfbridge.Tensor) error { return errors.New("no") }}
	b := newBatcher(t, m, Options{MaxBatchSize: 9, MaxExecutionBatchSize: 2, EnableLargeBatchSplitting: true})
	if a := <-ask(t.Context(), b, make([]float32, 9)); a.err == nil {
		t.Errorf("got %v", a)
	}
	b.Close()
	if got := m.batches(); !slices.Equal(got, []int64{2}) {
		t.Errorf("batches of %v rows, want one of 2", got)
	}
}

// Batchers of one scheduler take turns, however many requests wait in one.
func TestFairness(t *testing.T) {
	s := NewScheduler(1)
	a, c := gated(), gated()
	a.name, c.name = "a", "c"
	c.began, c.gate = a.began, a.gate
	many := newBatcher(t, a, Options{MaxBatchSize: 1, Scheduler: s})
	one := newBatcher(t, c, Options{MaxBatchSize: 1, Scheduler: s})
	answers := []<-chan answer{ask(t.Context(), many, []float32{0})}
	<-a.began
	for range 5 {
		answers = append(answers, ask(t.Context(), many, []float32{0}))
	}
	waitFor(many, 5)
	for range 2 {
		answers = append(answers, ask(t.Context(), one, []float32{0}))
	}
	waitFor(one, 2)
	close(a.gate)
	for _, got := range answers {
		if a := <-got; a.err != nil {
			t.Error(a.err)
		}
	}
	order := ""
	for len(a.began) > 0 {
		order += <-a.began
	}
	if order != "acacaaa" && order != "cacaaaa" {
		t.Errorf("the batches ran in the order %q", order)
	}
}

// Close answers accepted requests and refuses later ones.
func TestCloseDrains(t *testing.T) {
	m := gated()
	b := newBatcher(t, m, Options{BatchTimeout: time.Hour, MaxBatchSize: 2})
	got := ask(t.Context(), b, []float32{1})
	waitFor(b, 1)
	ended := make(chan struct{})
	go func() { b.Close(); close(ended) }()
	<-m.began
	if a := <-ask(t.Context(), b, []float32{2}); !errors.Is(a.err, millrace.ErrClosed) {
		t.Errorf("after Close: %v", a)
	}
	select {
	case <-ended:
		t.Error("Close did not wait for the batch that runs")
	default:
	}
	close(m.gate)
	if a := <-got; a.err != nil || a.values[0] != 2 {
		t.Errorf("the request that waited: %v", a)
	}
	<-ended
}

func TestRefusals(t *testing.T) {
	m := &doubler{dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1, 2)}
	b := newBatcher(t, m, Options{MaxBatchSize: 2})
	closed, err := tfbridge.NewTensor([][]float32{{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	tests := []struct {
		name   string
		inputs map[string]any
		want   string
	}{
		{"another input", map[string]any{"z": 1}, `no such input; the signature has ["x"]`},
		{"no input", nil, "missing"},
		{"another type", map[string]any{"x": [][]string{{"a", "b"}}}, "takes type float32"},
		{"a closed tensor", map[string]any{"x": closed}, "closed"},
	}
	for _, tt := range tests {
		if _, err := b.Predict(t.Context(), tt.inputs); !errors.Is(err, millrace.ErrModel) || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := b.Predict(t.Context(), map[string]any{"x": [][]float32{{1, 2}}}, "z"); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("another output: %v", err)
	}
	if got := m.batches(); len(got) > 0 {
		t.Errorf("the model ran on batches of %v rows", got)
	}
}

func TestNew(t *testing.T) {
	vector := tfbridge.MakeShape(-1)
	tests := []struct {
		name    string
		shape   tfbridge.Shape
		key     string
		options Options
		want    millrace.Class
	}{
		{"a scalar", tfbridge.ScalarShape(), "", Options{}, millrace.ErrModel},
		{"a fixed number of rows", tfbridge.MakeShape(4), "", Options{}, millrace.ErrModel},
		{"no such signature", vector, "other", Options{}, millrace.ErrModel},
		{"no rows", vector, "", Options{MaxBatchSize: -1}, millrace.ErrConfig},
		{"a negative wait", vector, "", Options{BatchTimeout: -1}, millrace.ErrConfig},
		{"no queue", vector, "", Options{MaxEnqueuedBatches: -1}, millrace.ErrConfig},
		{"sizes that fall", vector, "", Options{MaxBatchSize: 8, AllowedBatchSizes: []int{4, 2, 8}}, millrace.ErrConfig},
		{"sizes that end too early", vector, "", Options{MaxBatchSize: 8, AllowedBatchSizes: []int{2, 4}}, millrace.ErrConfig},
		{"splitting without saying so", vector, "", Options{MaxBatchSize: 8, MaxExecutionBatchSize: 4}, millrace.ErrConfig},
		{"an execution larger than a request", vector, "", Options{MaxBatchSize: 4, MaxExecutionBatchSize: 8, EnableLargeBatchSplitting: true}, millrace.ErrConfig},
	}
	for _, tt := range tests {
		if _, err := New(&doubler{dtype: tfbridge.Float, shape: tt.shape}, tt.key, &tt.options); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want class %v", tt.name, err, tt.want)
		}
	}
	for _, b := range []*Batcher{nil, {}} {
		if _, err := b.Predict(t.Context(), nil); !errors.Is(err, millrace.ErrClosed) || b.Close() != nil {
			t.Errorf("a batcher that New did not make: %v", err)
		}
	}
}

func TestWarmUp(t *testing.T) {
	m := &doubler{dtype: tfbridge.Float, shape: tfbridge.MakeShape(-1)}
	b := newBatcher(t, m, Options{MaxBatchSize: 5, AllowedBatchSizes: []int{1, 3, 5}})
	if err := b.WarmUp(t.Context(), map[string]any{"x": []float32{1, 2}}); err != nil {
		t.Error(err)
	}
	if err := newBatcher(t, m, Options{}).WarmUp(t.Context(), map[string]any{"x": []float32{1, 2}}); err != nil {
		t.Error(err)
	}
	if got := m.batches(); !slices.Equal(got, []int64{1, 3, 5, 2}) {
		t.Errorf("batches of %v rows, want the allowed sizes, and 2 where any is allowed", got)
	}
	for _, x := range []any{[]float32{}, []string{"a"}} {
		if err := b.WarmUp(t.Context(), map[string]any{"x": x}); !errors.Is(err, millrace.ErrModel) {
			t.Errorf("%v: got %v", x, err)
		}
	}
}

// Strings, short and long, arrive unchanged.
func TestStrings(t *testing.T) {
	m := gated()
	m.dtype = tfbridge.String
	b := newBatcher(t, m, Options{AllowedBatchSizes: []int{8}, MaxBatchSize: 8})
	long := strings.Repeat("long", 50)
	var group sync.WaitGroup
	for i, x := range [][]string{{"a"}, {"", long}, {"c"}} {
		group.Go(func() {
			outputs, err := b.Predict(t.Context(), map[string]any{"x": x})
			if err != nil {
				t.Error(err)
				return
			}
			defer outputs["y"].Close()
			if got, err := outputs["y"].Strings(); err != nil || !slices.Equal(got, x) {
				t.Errorf("got %q, %v, want %q", got, err, x)
			}
		})
		if i == 0 {
			<-m.began
		}
	}
	waitFor(b, 2)
	close(m.gate)
	group.Wait()
}

// Hundreds of requests to a real model get the same bits as each request alone, while
// some of them leave.
func TestHammer(t *testing.T) {
	testruntime.Need(t)
	model, err := graph.LoadModel("../../testdata/models/linear", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	b := newBatcher(t, model, Options{MaxBatchSize: 16, Scheduler: NewScheduler(2)})
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			for j := range 40 {
				rows := make([][]float32, 1+(i+j)%3)
				for k := range rows {
					rows[k] = []float32{float32(i), float32(j) / 7, float32(k)}
				}
				hammer(t, b, model, rows, j%5 == 4)
			}
		})
	}
	group.Wait()
}

// hammer compares the batcher's predictions with the model's. A request that leaves may
// get an error or a prediction.
func hammer(t *testing.T, b *Batcher, model *graph.Model, rows [][]float32, leaves bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if leaves {
		go cancel()
	}
	got, err := b.Predict(ctx, map[string]any{"x": rows})
	if err != nil {
		if !leaves || !errors.Is(err, millrace.ErrCanceled) {
			t.Error(err)
		}
		return
	}
	defer got["y"].Close()
	want, err := model.Call(t.Context(), "", map[string]any{"x": rows})
	if err != nil {
		t.Error(err)
		return
	}
	defer want["y"].Close()
	if g, w := fmt.Sprint(got["y"].Value()), fmt.Sprint(want["y"].Value()); g != w {
		t.Errorf("%v: got %s, want %s", rows, g, w)
	}
}

// Requests that come before the first goroutine has taken its batch do not start another
// one: it would find nothing, or run what could have been in the same batch.
func TestBurstStartsOneGoroutine(t *testing.T) {
	m := gated()
	s := NewScheduler(4)
	b := newBatcher(t, m, Options{Scheduler: s})
	s.mu.Lock()
	s.began = true // the state between the start of a goroutine and its first batch
	s.busy = 1
	s.mu.Unlock()
	var got []<-chan answer
	for range 3 {
		got = append(got, ask(t.Context(), b, []float32{1}))
	}
	waitFor(b, len(got))
	s.mu.Lock()
	if s.busy != 1 {
		t.Errorf("%d goroutines run batches, want the 1 that has begun", s.busy)
	}
	s.mu.Unlock()
	close(m.gate)
	go s.work()
	for i, c := range got {
		if a := <-c; a.err != nil {
			t.Errorf("request %d: %v", i, a.err)
		}
	}
	if rows := m.batches(); !slices.Equal(rows, []int64{3}) {
		t.Errorf("batches of %v rows, want one of 3", rows)
	}
}
