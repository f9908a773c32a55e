package training

import (
	"fmt"
	"strings"

	"math"
	"reflect"
	"testing"
	"time"

	"millrace/estimator/cluster"
	"millrace/estimator/metrics"
	"millrace/graph/steps"
	"millrace/tfbridge"

	"github.com/google/go-cmp/cmp"
)

// Zero values of options have their documented meaning. Values that the program has set
// do not change.
func TestDefaultsOfTraining(t *testing.T) {
	want := &Options{Signature: "train", Loss: "loss", LogEvery: 50, CheckpointEvery: 500, EvaluateEvery: 500, Keep: 5, SaveTimeout: 30 * time.Second}
	if got := (&Options{}).withDefaults(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	set := &Options{Signature: "a", Loss: "b", LogEvery: 1, CheckpointEvery: 2, EvaluateEvery: 3, Keep: 4, SaveTimeout: 5, Steps: 6, Init: "c"}
	if got := set.withDefaults(); !reflect.DeepEqual(got, set) || got == set {
		t.Errorf("got %+v, want a copy of %+v", got, set)
	}
	if got := (&Options{Objective: &Objective{}}).withDefaults(); got.Signature != "" {
		t.Errorf("with an objective the signature is %q, want the model's default one", got.Signature)
	}
}

// The best evaluation is the first of equal ones, must be better by more than MinDelta,
// and is not NaN. The evaluations after it are counted.
func TestBestEvaluation(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name   string
		min    bool
		delta  float64
		values []float64
		best   []int64 // after each value, counted from 1; 0: none
		since  []int64
	}{
		{"most", false, 0, []float64{1, 1, 2, 1, 3}, []int64{1, 1, 3, 3, 5}, []int64{0, 1, 0, 1, 0}},
		{"least", true, 0, []float64{3, 3, 2, 4, -1}, []int64{1, 1, 3, 3, 5}, []int64{0, 1, 0, 1, 0}},
		{"most by more than a quarter", false, 0.25, []float64{1, 1.25, 1.5, 1.75, 2}, []int64{1, 1, 3, 3, 5}, []int64{0, 1, 0, 1, 0}},
		{"least by more than a quarter", true, 0.25, []float64{2, 1.75, 1.5, 1.25, 1}, []int64{1, 1, 3, 3, 5}, []int64{0, 1, 0, 1, 0}},
		{"with NaN", true, 0, []float64{nan, 2, nan, nan, 1}, []int64{0, 2, 2, 2, 5}, []int64{0, 0, 1, 2, 0}},
	} {
		b := &Best{Metric: "m", Min: tt.min}
		var state *bestState
		for i, value := range tt.values {
			state = b.next(state, int64(i+1), value, tt.delta)
			switch {
			case tt.best[i] == 0 && state != nil:
				t.Errorf("%s: after %v: %+v", tt.name, tt.values[:i+1], state)
			case tt.best[i] == 0:
			case state == nil || state.Step != tt.best[i] || state.Since != tt.since[i] || state.Value != tt.values[state.Step-1]:
				t.Errorf("%s: after %v: %+v, want step %d and %d after it", tt.name, tt.values[:i+1], state, tt.best[i], tt.since[i])
			}
		}
	}
}

// A training stops early after the given number of evaluations without improvement, at
// least one.
func TestPatience(t *testing.T) {
	for _, tt := range []struct {
		stop  *Stop
		state *bestState
		want  bool
	}{
		{nil, &bestState{Since: 9}, false},
		{&Stop{Patience: 2}, nil, false},
		{&Stop{Patience: 2}, &bestState{Since: 1}, false},
		{&Stop{Patience: 2}, &bestState{Since: 2}, true},
		{&Stop{}, &bestState{}, false},
		{&Stop{}, &bestState{Since: 1}, true},
	} {
		run := &training{o: &Options{Stop: tt.stop}, state: trainState{Stop: tt.state}}
		if got := run.stopped(); got != tt.want {
			t.Errorf("%+v after %+v: stopped: %v, want %v", tt.stop, tt.state, got, tt.want)
		}
	}
	steps := &StepRange{First: 3, Last: 5}
	for step, want := range map[int64]bool{2: false, 3: true, 4: true, 5: true, 6: false} {
		if steps.contains(step) != want {
			t.Errorf("steps 3 to 5 contain %d: %v", step, !want)
		}
	}
}

// In an evaluation only numbers decide anything, and only finite ones are kept.
func TestMetricsThatAreNumbers(t *testing.T) {
	e := &Evaluation{Names: []string{"loss", "all"}, Values: map[string]metrics.Value{
		"loss": {Number: 0.5}, "zero": {}, "nan": {Number: math.NaN()}, "inf": {Number: math.Inf(1)}, "less": {Number: math.Inf(-1)},
		"all": {Matrix: [][]float64{{1}}},
	}}
	if diff := cmp.Diff(map[string]float64{"loss": 0.5, "zero": 0}, e.finite()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if v, err := e.metric("loss"); v != 0.5 || err != nil {
		t.Errorf("loss: %v, %v", v, err)
	}
	for _, name := range []string{"all", "depth"} {
		if _, err := e.metric(name); err == nil {
			t.Errorf("%s is a number", name)
		}
	}
}

// The time of a step ends with the step. The time before the batch arrived counts as
// waiting; a batch that had arrived earlier causes no waiting.
func TestClock(t *testing.T) {
	var c clock
	for _, arrived := range []time.Duration{-time.Hour, time.Hour} {
		c.start()
		c.stop(4, steps.SinceEpoch()+arrived, []float32{1, 0.5})
	}
	first := c.mark()
	if first.Steps != 2 || first.Examples != 8 || first.Duration <= 0 || first.InputWait <= 0 || first.InputWait >= first.Duration {
		t.Errorf("two steps, of which one waited: %+v", first)
	}
	c.start()
	c.stop(1, 0, []float32{1, 2})
	second := c.mark()
	if second.Steps != 1 || second.Examples != 1 || second.InputWait != 0 || second.Duration <= 0 {
		t.Errorf("one more step: %+v", second)
	}
	for want, p := range map[string]Progress{"[2 1]": first, "[1 2]": second, "[3 3]": c.total} {
		if got := fmt.Sprint(p.WorkerSeconds); got != want {
			t.Errorf("the processes took %s, want %s", got, want)
		}
	}
	if c.total.Steps != 3 || c.total.Examples != 9 || c.total.Duration != first.Duration+second.Duration || c.total.InputWait != first.InputWait {
		t.Errorf("all: %+v", c.total)
	}
}

// A process is slow if the others wait for it for a part of the time that counts.
func TestSlowWorker(t *testing.T) {
	p := peers{Member: &cluster.Member{Spec: cluster.Spec{Workers: []string{"a:1", "b:2", "c:3"}}}}
	tests := map[string]struct {
		seconds []float64
		total   time.Duration
		want    string
	}{
		"alone":            {total: time.Second},
		"equal":            {[]float64{1, 1, 1}, time.Second, ""},
		"slow":             {[]float64{1, 3, 2}, 3 * time.Second, "wait for worker 1 (b:2): its part of a step takes 0.3 s, and that of each other one at most 0.2 s"},
		"a bit slower":     {[]float64{1, 1.4, 1}, time.Second, ""},
		"little of a step": {[]float64{1, 2, 1}, 11 * time.Second, ""},
	}
	for name, tt := range tests {
		got := p.slow(&Progress{Steps: 10, Duration: tt.total, WorkerSeconds: tt.seconds})
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// scalar returns the value of a scalar of any number type, and fails for other tensors.
func TestScalars(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  float64
		ok    bool
	}{
		{float32(1.5), 1.5, true}, {2.5, 2.5, true}, {tfbridge.NewFloat16(0.5), 0.5, true}, {tfbridge.NewBFloat16(0.25), 0.25, true},
		{int32(-3), -3, true}, {int64(4), 4, true},
		{"5", 0, false}, {true, 0, false}, {[]float32{6}, 0, false}, {uint8(7), 0, false},
	} {
		x, err := tfbridge.NewTensor(tt.value)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if got, ok := scalar(x); got != tt.want || ok != tt.ok {
			t.Errorf("%v: %v, %v", tt.value, got, ok)
		}
	}
	if v, ok := scalar(nil); v != 0 || ok {
		t.Errorf("no tensor: %v, %v", v, ok)
	}
}
