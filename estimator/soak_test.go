package estimator_test

import (
	"testing"

	"millrace/estimator"
	"millrace/internal/test/leak"
	"millrace/tfbridge"
)

// soak watches what stays behind while something is repeated.
type soak struct {
	rounds  int
	live    int64
	settled int64 // resident size after the first fifth, in which allocators settle
}

func newSoak(rounds int) *soak { return &soak{rounds: rounds, live: tfbridge.Live()} }

// round is called after each round, from 0 on.
func (s *soak) round(t *testing.T, i int) {
	if i == s.rounds/5 {
		s.settled = leak.Resident(t)
	}
}

// check fails if memory kept growing or a handle stays open.
func (s *soak) check(t *testing.T, slack int64) {
	t.Helper()
	if n := tfbridge.Live() - s.live; n > 0 {
		t.Errorf("%d handles stay open: %v", n, tfbridge.LiveKinds())
	}
	if grown := leak.Resident(t) - s.settled; grown > slack {
		t.Errorf("resident size grew by %d bytes over the last four fifths of %d rounds", grown, s.rounds)
	}
}

const mib = 1 << 20

func TestHundredThousandBatches(t *testing.T) {
	m := load(t, "constant", "")
	p := plan(t, m, 1000, map[string]feature{"x": {"float32", []int{}, "float", floatAt(scalars)}})
	p.BatchSize, p.Epochs = 1, 100
	s := newSoak(100_000)
	i := 0
	for b, err := range m.Predict(t.Context(), p, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Rows() != 1 {
			t.Fatalf("batch %d has %d rows", i, b.Rows())
		}
		s.round(t, i)
		i++
	}
	if i != s.rounds {
		t.Errorf("%d batches, want %d", i, s.rounds)
	}
	s.check(t, 16*mib)
}

func TestThousandLoads(t *testing.T) {
	s := newSoak(1000)
	for i := range s.rounds {
		m, err := estimator.LoadModel(modelDir("linear"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		s.round(t, i)
	}
	s.check(t, 32*mib)
}
