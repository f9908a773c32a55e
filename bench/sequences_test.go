package main

import (
	"strings"
	"testing"
)

// sequenced returns a round in which the sequence loaders are f times as good
// as they need to be.
func sequenced(f float64) sequenceRound {
	s := sequenceRound{Windows: map[string]*windowRound{}}
	for _, form := range []string{"float", "raw"} {
		for _, size := range []int{shortWindow, longWindow} {
			w := &windowRound{Ours: figures{RecordsPerS: 20e6 * f / float64(size)}, Copy: 40e6}
			w.Samples = samplesPerSecond(w.Ours, size)
			w.Slide.RecordsPerS, w.Chunks.RecordsPerS = 1e6, 30e6
			s.Windows[windowKey(form, size)] = w
		}
	}
	s.Lists.RecordsPerS, s.Single.RecordsPerS, s.Batched.RecordsPerS = 40_000*f, 10_000, 10_000
	return s
}

// What is judged of the sequence loaders is what was asked for.
func TestSequenceRows(t *testing.T) {
	for _, f := range []float64{0.9, 1.1} {
		r := round{Sequences: sequenced(f)}
		judged := 0
		for _, row := range sequenceRows() {
			ours := row.ours(r)
			met := row.target.met(ours, ours/row.theirs(r))
			if row.target == (target{}) {
				continue
			}
			judged++
			easy := strings.HasSuffix(row.name, "batched parsing")
			if want := f > 1 || easy; met != want {
				t.Errorf("%s: met %v at %g times, want %v", row.name, met, f, want)
			}
		}
		if judged != 8 {
			t.Errorf("%d rows are judged, want 8", judged)
		}
	}
}

func TestSameSequences(t *testing.T) {
	batch := func(v float64) map[string]tensor {
		return map[string]tensor{"x": {DType: "float32", Shape: []int64{1}, Values: []float64{v}}}
	}
	ours := []map[string]tensor{batch(1), batch(2)}
	if err := equalBatches(ours, []map[string]tensor{batch(1), batch(2)}); err != nil {
		t.Error(err)
	}
	for _, theirs := range [][]map[string]tensor{nil, {batch(1)}, {batch(1), batch(3)}} {
		if err := equalBatches(ours, theirs); err == nil {
			t.Errorf("%v and %v are said to be the same", ours, theirs)
		}
	}
}
