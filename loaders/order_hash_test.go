package loaders_test

import (
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
)

// The digest of an order is the same with any engine and any threads, and differs with seed,
// shard and batch.
func TestOrderHash(t *testing.T) {
	testruntime.Need(t)
	hash := func(args fixture.Object, change func(*loaders.Plan)) string {
		t.Helper()
		f := orderData(t, args)
		f.Save(t)
		p, problems := loaders.Check(f.Config(), nil)
		if p == nil {
			t.Fatal(problems)
		}
		if change != nil {
			change(p)
		}
		h, err := loaders.OrderHash(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	shuffled := exact(3, nil)
	want := hash(shuffled, nil)
	general := func(p *loaders.Plan) { p.NativeLibrary = "" }
	for name, got := range map[string]string{
		"by Go":           hash(shuffled, general),
		"endless":         hash(exact(3, fixture.Object{"epochs": nil}), nil),
		"several threads": hash(exact(3, fixture.Object{"num_parallel_reads": 3, "num_prefetch": 4}), nil),
	} {
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for name, got := range map[string]string{
		"another seed":   hash(exact(3, fixture.Object{"seed": 12}), nil),
		"larger batches": hash(exact(3, fixture.Object{"target_batch_size": 5}), nil),
		"a shard":        hash(exact(3, fixture.Object{"shard": fixture.Object{"index": 0, "count": 2}}), nil),
		"no shuffling":   hash(nil, nil),
	} {
		if got == want {
			t.Errorf("%s has the same digest", name)
		}
	}
}
