package main

import (
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// Our side of pipelines of queues gives a rate.
func TestQueueRate(t *testing.T) {
	testruntime.Need(t)
	if r, err := tfbridge.Open(nil); err != nil || !r.HasOperations() {
		t.Skip("the library of our own operations is not there: ", err)
	}
	f := layout(t.TempDir(), 400)
	if err := f.make(400, 1); err != nil {
		t.Fatal(err)
	}
	for _, way := range queueWays {
		way.batches = 3
		if rate, err := queueRate(t.Context(), f.data, way); err != nil || rate <= 0 {
			t.Errorf("%s: got %v, %v", way.name, rate, err)
		}
	}
}
