package permutation_test

import (
	"math"
	"slices"
	"testing"

	"millrace/loaders/permutation"
)

// take returns the records of an order from a position on.
func take(o *permutation.Order, from, n int64) (all []int64) {
	for i := range n {
		all = append(all, o.At(from+i))
	}
	return all
}

// Find is the inverse of At.
func TestFind(t *testing.T) {
	for _, n := range []int64{1, 2, 7, 255, 1000, 65_537} {
		p := permutation.New(n, permutation.Key{Seed: 4, Epoch: 2, Stream: n})
		for i := int64(0); i < n; i += 1 + n/500 {
			if at := p.Find(p.At(i)); at != i {
				t.Fatalf("of %d: the number at %d is found at %d", n, i, at)
			}
		}
	}
}

// Block shuffling gives each record once, whatever the sizes of the blocks and of the
// mixed windows, and blocks stay together within a few windows.
func TestBlocks(t *testing.T) {
	for _, records := range []int64{1, 2, 10, 99, 100, 101} {
		for _, block := range []int64{1, 3, 10, 200} {
			for _, mixed := range []int64{1, 7, 30, 500} {
				o := permutation.NewOrder(&permutation.Spec{
					Shuffling: permutation.Block, Seed: 3, Block: block, Mixed: mixed,
					Parts: []permutation.Part{{First: 5, Records: records}}, Size: records,
				})
				first, second := take(o, 0, records), take(o, records, records)
				if records > 90 && block < records && slices.Equal(first, second) {
					t.Errorf("%d records, blocks of %d, %d mixed: two epochs are equal", records, block, mixed)
				}
				places := map[int64][]int64{} // windows of each block
				for i, x := range first {
					places[(x-5)/block] = append(places[(x-5)/block], int64(i)/mixed)
				}
				for b, windows := range places {
					if span := slices.Max(windows) - slices.Min(windows); span > (block+mixed-1)/mixed {
						t.Errorf("%d records, blocks of %d, %d mixed: block %d is spread over %d windows", records, block, mixed, b, span+1)
					}
				}
				for _, epoch := range [][]int64{first, second} {
					if slices.Sort(epoch); epoch[0] != 5 || epoch[records-1] != 4+records || len(slices.Compact(epoch)) != int(records) {
						t.Errorf("%d records, blocks of %d, %d mixed: %v", records, block, mixed, epoch)
					}
				}
			}
		}
	}
}

// Where blocks are mixed, records of a block do not follow each other more often than
// in a random order of as many records.
func TestBlocksMix(t *testing.T) {
	o := permutation.NewOrder(&permutation.Spec{
		Shuffling: permutation.Block, Seed: 9, Block: 10, Mixed: 1000,
		Parts: []permutation.Part{{Records: 10_000}}, Size: 10_000,
	})
	neighbours := 0
	for at := range int64(9999) {
		if d := o.At(at+1) - o.At(at); d == 1 || d == -1 {
			neighbours++
		}
	}
	if neighbours > 50 { // 18 are expected
		t.Errorf("%d of 10,000 records follow a neighbour", neighbours)
	}
}

// mixture is an order of three parts of 50, 10 and 30 records with weights 1, 2 and 1.
func mixture(size int64) *permutation.Spec {
	quarter := int64(math.MaxInt64 / 4)
	return &permutation.Spec{
		Shuffling: permutation.Exact, Seed: 5, Block: 1, Mixed: 1, Size: size,
		Parts: []permutation.Part{{0, 50, quarter}, {50, 10, 3 * quarter}, {60, 30, 0}},
	}
}

// A mixture draws by weight, reads each part in passes of it, and gives the same from
// any position on.
func TestMixture(t *testing.T) {
	const n = 40_000
	whole := take(permutation.NewOrder(mixture(n)), 0, 2*n)
	var parts [3][]int64
	for _, x := range whole[:n] {
		switch {
		case x < 50:
			parts[0] = append(parts[0], x)
		case x < 60:
			parts[1] = append(parts[1], x)
		default:
			parts[2] = append(parts[2], x)
		}
	}
	for i, want := range []float64{0.25, 0.5, 0.25} {
		if share := float64(len(parts[i])) / n; math.Abs(share-want) > 0.01 {
			t.Errorf("part %d has a share of %.3f, want %.2f", i, share, want)
		}
	}
	for at := 0; at+10 <= len(parts[1]); at += 10 {
		if pass := slices.Sorted(slices.Values(parts[1][at : at+10])); pass[0] != 50 || pass[9] != 59 || len(slices.Compact(pass)) != 10 {
			t.Fatalf("pass %d of the second part: %v", at/10, parts[1][at:at+10])
		}
	}
	if slices.Equal(parts[1][:10], parts[1][10:20]) || slices.Equal(whole[:n], whole[n:]) {
		t.Error("two passes are equal")
	}
	for _, at := range []int64{1, 999, n - 1, n, n + 12_345} {
		if got := take(permutation.NewOrder(mixture(n)), at, 50); !slices.Equal(got, whole[at:at+50]) {
			t.Errorf("from position %d: got %v, want %v", at, got, whole[at:at+50])
		}
	}
}

// The orders must not change, because saved positions depend on them. The test
// cgo/datasets/record_order_test.cc has the same numbers.
func TestGoldenOrders(t *testing.T) {
	for name, tt := range map[string]struct {
		spec *permutation.Spec
		from int64
		want []int64
	}{
		"block": {&permutation.Spec{
			Shuffling: permutation.Block, Seed: 7, Block: 4, Mixed: 9, Size: 20, Begin: 2,
			Parts: []permutation.Part{{First: 100, Records: 30}},
		}, 15, []int64{120, 113, 129, 102, 112, 116, 118, 104, 117, 112}},
		"mixture": {mixture(60), 55, []int64{55, 50, 85, 53, 14, 87, 33, 75, 86, 7}},
	} {
		if got := take(permutation.NewOrder(tt.spec), tt.from, 10); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %#v", name, got)
		}
	}
}
