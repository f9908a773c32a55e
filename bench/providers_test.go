package main

import (
	"testing"

	"millrace/internal/test/testruntime"
)

// Both ways to bring batches to a model have a rate, and the table compares them.
func TestProviderRates(t *testing.T) {
	testruntime.Need(t)
	rates, err := measureProviders(t.Context(), 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := round{Queues: queueRound{Providers: rates}}
	for _, row := range providerRows() {
		if row.ours(r) <= 0 || row.theirs(r) <= 0 {
			t.Errorf("%s: rates %v", row.name, rates)
		}
	}
	row := providerRows()[0]
	rates["staged_model"], rates["fed_model"] = 0.9, 1
	if row.target.met(row.ours(r), row.ours(r)/row.theirs(r)) {
		t.Error("staging that is slower than feeding meets the target")
	}
}
