package soak_test

import (
	"testing"

	"millrace/internal/test/soak"
)

// Rounds end early where the time is over, but not before the brief count.
func TestRepeat(t *testing.T) {
	for value, want := range map[string]int{"": 3, "1": 40, "1h": 40, "1ns": 3} {
		t.Setenv(soak.Env, value)
		got := 0
		for i := range soak.Repeat(3, 40, 2) {
			if i != got {
				t.Errorf("%q: round %d is number %d", value, got, i)
			}
			got++
		}
		if got != want {
			t.Errorf("%q: %d rounds, want %d", value, got, want)
		}
	}
}
