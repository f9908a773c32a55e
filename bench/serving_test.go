package main

import "testing"

// servedRound returns a round of servers in which ours is f times as good as the
// targets require.
func servedRound(f float64) map[string]*servingRound {
	all := map[string]*servingRound{}
	for _, kind := range servingKinds {
		all[kind] = &servingRound{
			Alone:    served{RequestsPerS: 8e3 / batchingTarget},
			Batched:  served{RequestsPerS: 8e3 * f, P99S: 0.03 / f, GeneratorS: 5e-6},
			Half:     served{P50S: 0.0018, P99S: 0.0043 / f},
			Python:   served{RequestsPerS: 1e3, P99S: 0.03},
			PythonNP: served{RequestsPerS: 1e3, P99S: 0.03},

			BatchedWithin:  served{RequestsPerS: 8e3 * f},
			PythonWithin:   served{RequestsPerS: 1e3},
			PythonNPWithin: served{RequestsPerS: 1e3},
		}
	}
	return all
}

// Answers are the same up to rounding, and not when a value or the form differs.
func TestSameAnswers(t *testing.T) {
	for _, tt := range []struct {
		theirs string
		same   bool
	}{
		{`{"predictions":[[1.00001,2.0]]}`, true},
		{`{"predictions":[[1.01,2.0]]}`, false},
		{`{"predictions":[[1.0]]}`, false},
		{`{"predictions":[]}`, false},
		{`{"error":"busy"}`, false},
		{`busy`, false},
	} {
		if err := sameAnswers([]byte(`{"predictions":[[1.0,2.0]]}`), []byte(tt.theirs)); (err == nil) != tt.same {
			t.Errorf("%s: got %v", tt.theirs, err)
		}
	}
}
