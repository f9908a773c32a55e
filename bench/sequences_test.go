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
		for _, kind := range []struct {
			size                  int
			slide, chunks, copies float64 // targets
		}{{100, 20, 20, 0.2}, {1_000, 0, 30, 0.6}, {4_000, 0, 30, 0.6}, {10_000, 20, 0, 0.5}} {
			w := &windowRound{Ours: figures{RecordsPerS: 60e6 * f / float64(kind.size)}, Copy: 60e6 / kind.copies}
			w.Samples = samplesPerSecond(w.Ours, kind.size)
			w.Slide.RecordsPerS, w.Chunks.RecordsPerS = 60e6/max(kind.slide, 1), 60e6/max(kind.chunks, 1)
			s.Windows[windowKey(form, kind.size)] = w
		}
	}
	s.Lists.RecordsPerS, s.Single.RecordsPerS, s.Batched.RecordsPerS = 40_000*f, 10_000, 10_000
	return s
}

// Sequence loaders are compared with their own targets only.
func TestSequenceRows(t *testing.T) {
	for _, f := range []float64{0.9, 1.1} {
		r := round{Sequences: sequenced(f)}
		targeted := 0
		for _, row := range sequenceRows() {
			ours := row.ours(r)
			met := row.target.met(ours, ours/row.theirs(r))
			if row.target == (target{}) {
				continue
			}
			targeted++
			easy := strings.HasSuffix(row.name, "batched parsing")
			if want := f > 1 || easy; met != want {
				t.Errorf("%s: met %v at %g times, want %v", row.name, met, f, want)
			}
		}
		if targeted != 20 {
			t.Errorf("%d rows have a target, want 20", targeted)
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
