package main

import (
	"testing"

	"millrace/internal/test/testruntime"
)

// Our side of live elements gives a rate.
func TestSeqRate(t *testing.T) {
	testruntime.Need(t)
	if rate, err := seqRate(t.Context(), seqVector{}, 3); err != nil || rate <= 0 {
		t.Errorf("got %v, %v", rate, err)
	}
}
