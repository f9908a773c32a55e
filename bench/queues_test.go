package main

import (
	"testing"

	"millrace/internal/test/testruntime"
)

// Our side of pipelines of queues gives a rate.
func TestQueueRate(t *testing.T) {
	testruntime.Need(t)
	f := layout(t.TempDir(), 400)
	if err := f.make(400, 1); err != nil {
		t.Fatal(err)
	}
	if rate, err := queueRate(t.Context(), f.data, 2, 3); err != nil || rate <= 0 {
		t.Errorf("got %v, %v", rate, err)
	}
}
