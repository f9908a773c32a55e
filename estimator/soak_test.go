package estimator_test

import (
	"testing"

	"millrace/estimator"
	"millrace/internal/test/leak"
	"millrace/internal/test/soak"
	"millrace/loaders"
	"millrace/tfbridge"
)

const mib = 1 << 20

// A hundred thousand batches in "make soak" leave no memory and no handle.
func TestBatchesLeaveNothing(t *testing.T) {
	const records = 1000
	rounds := soak.Rounds(10_000, 100_000)
	m := load(t, "constant", "")
	p := plan(t, m, records, map[string]feature{"x": {"float32", []int{}, "float", floatAt(scalars)}})
	p.BatchSize, p.Epochs = 1, int64(rounds/records)
	noneLeft, memory := leak.Objects(t, tfbridge.Live), leak.NewGrowth(rounds)
	i := 0
	for b, err := range m.Predict(t.Context(), &loaders.Source{Plan: p}, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Rows() != 1 {
			t.Fatalf("batch %d has %d rows", i, b.Rows())
		}
		memory.Round(t, i)
		i++
	}
	if i != rounds {
		t.Errorf("%d batches, want %d", i, rounds)
	}
	memory.Check(t, 16*mib)
	noneLeft()
}

// A thousand loads in "make soak" leave no memory and no handle.
func TestLoadsLeaveNothing(t *testing.T) {
	rounds := soak.Rounds(100, 1000)
	noneLeft, memory := leak.Objects(t, tfbridge.Live), leak.NewGrowth(rounds)
	for i := range rounds {
		m, err := estimator.LoadModel(modelDir("linear"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		memory.Round(t, i)
	}
	memory.Check(t, 32*mib)
	noneLeft()
}
