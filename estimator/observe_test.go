package estimator_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"millrace/estimator"
	"millrace/observe"
)

// A model reports its steps and the waits of the loop: at least the first.
func TestListenerHearsOfSteps(t *testing.T) {
	var mu sync.Mutex
	var said []string
	stalls := map[int64]bool{}
	m, err := estimator.LoadModel(modelDir("constant"), &estimator.ModelOptions{Observe: &observe.Listener{
		Opened: func(e observe.Opened) { said = append(said, "opened") },
		Closed: func(e observe.Closed) { said = append(said, "closed") },
		Batch: func(e observe.Batch) {
			mu.Lock()
			said = append(said, fmt.Sprint(e.Signature, " ", e.Step))
			mu.Unlock()
		},
		Stall: func(e observe.Stall) {
			if e.Duration < 0 {
				t.Errorf("waited %v", e.Duration)
			}
			mu.Lock()
			stalls[e.Step] = true
			mu.Unlock()
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := m.Join(t.Context(), ones(2), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range pipe.Run(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // a second Close reports nothing
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"opened", "serving_default 1", "serving_default 2", "closed"}; !slices.Equal(said, want) {
		t.Errorf("told %q, want %q", said, want)
	}
	if !stalls[1] {
		t.Errorf("waits for steps %v, want one for the first", stalls)
	}
}
