package estimate

import (
	"testing"
	"time"

	"millrace/estimator"
)

func TestTrainProgress(t *testing.T) {
	p := newTrainProgress(func() int64 { return 2000 }, 1000)
	if got := p.status(100); got != "1,000/2,000" {
		t.Errorf("before the first step: %q", got)
	}
	began := p.began
	after := func(step int64, elapsed, wait time.Duration) {
		t.Helper()
		p.now = func() time.Time { return began.Add(elapsed) }
		p.made(&estimator.Step{Step: step, Loss: 0.123456, Total: estimator.Progress{
			Steps: step - 1000, Examples: 32 * (step - 1000), Duration: elapsed, InputWait: wait,
		}})
	}
	after(1100, 500*time.Millisecond, 0)
	after(1200, time.Second, 100*time.Millisecond)
	want := "1,200/2,000  loss 0.1235  200 steps/s  6,400 examples/s  input wait 10%  4s left"
	if got := p.status(len(want)); got != want {
		t.Errorf("status %q, want %q", got, want)
	}
	// The figures cover only the second second; the time left is computed from both.
	after(1210, 2*time.Second, 600*time.Millisecond)
	want = "1,210/2,000  loss 0.1235  10 steps/s  320 examples/s  input wait 50%  8s left"
	if got := p.status(len(want)); got != want {
		t.Errorf("status %q, want %q", got, want)
	}
	for width, want := range map[int]string{
		len(want) - 1: "1,210/2,000  loss 0.1235  10 steps/s  input wait 50%  8s left",
		40:            "1,210/2,000  loss 0.1235  8s left",
		5:             "1,210/2,000",
	} {
		if got := p.status(width); got != want {
			t.Errorf("status in %d columns %q, want %q", width, got, want)
		}
	}
}

// Without a last step the line has no time left, and the bar has no length.
func TestTrainProgressWithoutEnd(t *testing.T) {
	p := newTrainProgress(func() int64 { return 0 }, 0)
	p.made(&estimator.Step{Step: 3, Loss: 1.5, Total: estimator.Progress{Steps: 3, Examples: 6, Duration: 6 * time.Second}})
	if got, want := p.status(80), "3  loss 1.5  0.5 steps/s  1 examples/s  input wait 0%"; got != want {
		t.Errorf("status %q, want %q", got, want)
	}
}
