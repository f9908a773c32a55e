package batching

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"millrace/graph"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// A model that computes each row in the same way gives the same bits in a batch as
// alone, for all other rows and paddings of the batch.
func TestBitEquality(t *testing.T) {
	testruntime.Need(t)
	const callers, calls = 32, 8
	m, err := graph.LoadModel("../../testdata/models/regressor", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var mu sync.Mutex
	shared, filled := 0, 0 // batches
	b, err := New(m, "regress", &Options{MaxBatchSize: 32, BatchTimeout: time.Millisecond, AllowedBatchSizes: []int{5, 32}, OnBatch: func(i BatchInfo) {
		mu.Lock()
		defer mu.Unlock()
		if i.Requests > 1 {
			shared++
		}
		if i.Padding > 0 {
			filled++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	var all sync.WaitGroup
	for i := range uint64(callers) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, i))
			for range calls {
				xs := make([][2]float32, 1+random.IntN(3))
				for r := range xs {
					xs[r] = [2]float32{random.Float32(), float32(random.NormFloat64())}
				}
				inputs := map[string]any{"xs": xs}
				alone, err := m.Call(t.Context(), "regress", inputs)
				if err != nil {
					t.Error(err)
					return
				}
				together, err := b.Predict(t.Context(), inputs)
				if err != nil {
					t.Error(err)
				} else if want, got := bytesOf(t, alone["outputs"]), bytesOf(t, together["outputs"]); !slices.Equal(got, want) {
					t.Errorf("%v: % x alone, % x in a batch", xs, want, got)
				}
				alone["outputs"].Close()
				together["outputs"].Close()
			}
		})
	}
	all.Wait()
	if shared == 0 || filled == 0 {
		t.Errorf("%d batches were shared and %d filled up: nothing was compared", shared, filled)
	}
}

// bytesOf returns the bytes of a tensor's elements.
func bytesOf(t *testing.T, x *tfbridge.Tensor) []byte {
	raw, err := x.Bytes()
	if err != nil {
		t.Error(err)
	}
	return raw
}
