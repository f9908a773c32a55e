package permutation_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/loaders/permutation"
)

func ExamplePermutation() {
	order := permutation.New(10, permutation.Key{Seed: 1})
	for i := range int64(10) {
		fmt.Print(order.At(i), " ")
	}
	// Output: 7 5 9 3 4 6 8 0 2 1
}

// order returns all numbers of a permutation.
func order(n int64, seed, epoch int64) []int64 {
	p := permutation.New(n, permutation.Key{Seed: seed, Epoch: epoch})
	all := make([]int64, n)
	for i := range all {
		all[i] = p.At(int64(i))
	}
	return all
}

// Every number comes once, whatever n is.
func TestEachOnce(t *testing.T) {
	for _, n := range []int64{0, 1, 2, 3, 7, 8, 9, 15, 16, 255, 256, 257, 1000, 65_535, 65_536, 65_537, 100_003} {
		all := order(n, 5, n)
		slices.Sort(all)
		for i, x := range all {
			if x != int64(i) {
				t.Fatalf("%d numbers: place %d has %d", n, i, x)
			}
		}
	}
}

// The largest n work too: numbers are below n, and no two of some positions are
// equal.
func TestHuge(t *testing.T) {
	for _, n := range []int64{math.MaxInt64, 1 << 62, 1<<62 + 1, 1<<33 - 1} {
		p, seen := permutation.New(n, permutation.Key{Seed: 3}), map[int64]bool{}
		for i := range int64(1000) {
			x := p.At(i * (n / 1000))
			if x < 0 || x >= n || seen[x] {
				t.Fatalf("of %d: %d is outside or comes again", n, x)
			}
			seen[x] = true
		}
	}
}

// drawn returns an order from math/rand, to check the tests.
func drawn(n int64, seed, epoch int64) []int64 {
	all := make([]int64, n)
	for i := range all {
		all[i] = int64(i)
	}
	rand.New(rand.NewPCG(uint64(seed), uint64(epoch))).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// unlikely returns the z-score of a chi-square statistic with many degrees of freedom,
// by Wilson and Hilferty. It is above 3.09 in one case of 1,000.
func unlikely(chi2, freedom float64) float64 {
	return (math.Cbrt(chi2/freedom) - (1 - 2/(9*freedom))) / math.Sqrt(2/(9*freedom))
}

// limit is the z-score of p = 0.001.
const limit = 3.0902

// uniformity returns z-scores for the distributions that should be uniform in a random
// order of n numbers, over some seeds: the position of each number, the number at each
// position, and the distance of neighbours.
func uniformity(n, seeds int64, order func(n, seed, epoch int64) []int64) map[string]float64 {
	const bins = 20
	where, which, apart := make([]float64, n*bins), make([]float64, n*bins), make([]float64, n)
	for seed := range seeds {
		all := order(n, seed, 0)
		for at, x := range all {
			where[x*bins+int64(at)*bins/n]++
			which[int64(at)*bins+x*bins/n]++
			if at > 0 {
				apart[(x-all[at-1]+n)%n]++
			}
		}
	}
	score := func(counts []float64, expected, freedom float64) float64 {
		chi2 := 0.0
		for _, c := range counts {
			chi2 += (c - expected) * (c - expected) / expected
		}
		return unlikely(chi2, freedom)
	}
	free := float64(n-1) * (bins - 1)
	return map[string]float64{
		"where a number comes":      score(where, float64(seeds)/bins, free),
		"which number comes":        score(which, float64(seeds)/bins, free),
		"how far neighbours differ": score(apart[1:], float64(seeds*(n-1))/float64(n-1), float64(n-2)),
	}
}

// Over 200 seeds on 1,000 records, positions pass a chi-square test at p > 0.001.
// Orders from math/rand do, too, which shows that the test is fair.
func TestUniform(t *testing.T) {
	for name, f := range map[string]func(n, seed, epoch int64) []int64{"computed": order, "drawn": drawn} {
		for what, z := range uniformity(1000, 200, f) {
			t.Logf("%s, %s: z = %.2f", name, what, z)
			if z > limit || z < -limit {
				t.Errorf("%s, %s: z = %.2f", name, what, z)
			}
		}
	}
	turned := func(n, seed, _ int64) []int64 { // not a shuffle but a rotation
		all := make([]int64, n)
		for i := range all {
			all[i] = (int64(i) + seed*5) % n
		}
		return all
	}
	if z := uniformity(1000, 200, turned)["how far neighbours differ"]; z < limit {
		t.Errorf("the test lets turns pass: z = %.2f", z)
	}
}

// Of four records all 24 orders come equally often.
func TestUniformOfFew(t *testing.T) {
	const seeds = 24_000
	counts := map[[4]int64]float64{}
	for seed := range int64(seeds) {
		counts[[4]int64(order(4, seed/100, seed%100))]++
	}
	chi2 := 0.0
	for _, c := range counts {
		chi2 += (c - seeds/24) * (c - seeds/24) / (seeds / 24)
	}
	if z := unlikely(chi2, 23); len(counts) != 24 || z > limit || z < -limit {
		t.Errorf("%d orders, z = %.2f", len(counts), z)
	}
}

// No two epochs of a seed are equal, and no two seeds of an epoch.
func TestEpochsDiffer(t *testing.T) {
	seen := map[string]string{}
	for seed := range int64(200) {
		for epoch := range int64(20) {
			key, at := fmt.Sprint(order(30, seed, epoch)), fmt.Sprintf("seed %d, epoch %d", seed, epoch)
			if other, ok := seen[key]; ok {
				t.Errorf("%s has the order of %s", at, other)
			}
			seen[key] = at
		}
	}
}

// The orders must not change, because saved positions depend on them, and the native
// operations compute them too.
func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		n, seed, epoch int64
		want           []int64
	}{
		{10, 1, 0, []int64{7, 5, 9, 3, 4, 6}},
		{1000, -7, 3, []int64{340, 981, 605, 807, 328, 291}},
		{1 << 40, 1 << 60, 1, []int64{1028182752312, 730452331397, 78981743391, 547660451849, 344141095678, 782741635577}},
	} {
		p := permutation.New(tt.n, permutation.Key{Seed: tt.seed, Epoch: tt.epoch})
		var got []int64
		for i := range int64(6) {
			got = append(got, p.At(i))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%d, seed %d, epoch %d: got %#v", tt.n, tt.seed, tt.epoch, got)
		}
	}
}

func BenchmarkAt(b *testing.B) {
	p, i := permutation.New(100_000, permutation.Key{Seed: 1}), int64(0)
	for b.Loop() {
		i = p.At(i)
	}
}
