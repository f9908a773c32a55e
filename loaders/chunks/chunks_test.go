package chunks_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/loaders/chunks"

	"github.com/google/go-cmp/cmp"
)

func ExampleCut() {
	cut := chunks.Cut{Size: 50, Step: 25}
	for k := range cut.Rows(130) {
		begin, end := cut.Row(k, 130)
		fmt.Print(begin, "-", end, " ")
	}
	// Output: 0-50 25-75 50-100 75-125 100-130 125-130
}

func ExampleOrder() {
	order, err := chunks.ParseOrder("laplace:2")
	if err != nil {
		fmt.Println(err)
		return
	}
	lengths := []int32{5, 3, 8, 1, 9, 2}
	for _, place := range order.Arrange(6, lengths, 1, 0) {
		fmt.Print(lengths[place], " ")
	}
	// Output: 2 3 9 8 5 1
}

// TestCut compares the rows with those that a plain loop gives.
func TestCut(t *testing.T) {
	for size := range int64(6) {
		for step := int64(1); step < 7; step++ {
			for _, drop := range []bool{false, true} {
				for length := range int64(15) {
					cut := chunks.Cut{Size: size, Step: step, DropTail: drop}
					var want [][2]int64
					for begin := int64(0); begin < length && size > 0; begin += step {
						if end := min(begin+size, length); !drop || end-begin == size {
							want = append(want, [2]int64{begin, end})
						}
					}
					if size == 0 {
						want = [][2]int64{{0, length}}
					}
					var got [][2]int64
					for k := range cut.Rows(length) {
						begin, end := cut.Row(k, length)
						got = append(got, [2]int64{begin, end})
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("%+v of %d frames (-want +got)\n%s", cut, length, diff)
					}
				}
			}
		}
	}
}

// TestBudget checks random rows by the rule itself: every batch fits, and none
// has room for the next row.
func TestBudget(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		b := chunks.Budget{Frames: 1 + r.Int64N(40), MaxSeqs: r.Int64N(5), Fixed: []int64{-1, -1 + r.Int64N(2)*6}}
		lengths := make([]int64, 2*r.IntN(30))
		for i := range lengths {
			lengths[i] = r.Int64N(6)
		}
		fits := func(begin, end int64) bool {
			rows := end - begin
			most := [2]int64{0, b.Fixed[1]}
			for i := 2 * begin; i < 2*end; i++ {
				most[i%2] = max(most[i%2], lengths[i])
			}
			return (b.MaxSeqs == 0 || rows <= b.MaxSeqs) && most[0]*rows <= b.Frames && most[1]*rows <= b.Frames
		}
		begin, rows := int64(0), int64(len(lengths)/2)
		for _, end := range b.Ends(lengths) {
			if end <= begin || end >= rows || end > begin+1 && !fits(begin, end) || fits(begin, end+1) {
				t.Fatalf("%+v: batch %d to %d of %v", b, begin, end, lengths)
			}
			begin = end
		}
		if rows > begin+1 && !fits(begin, rows) {
			t.Fatalf("%+v: the rest from %d of %v is more than a batch", b, begin, lengths)
		}
	}
}

func TestParseOrder(t *testing.T) {
	for text, want := range map[string]chunks.Order{
		"default": {Kind: chunks.Default}, "reverse": {Kind: chunks.Reverse}, "sorted": {Kind: chunks.Sorted},
		"sorted_reverse": {Kind: chunks.SortedReverse}, "random": {Kind: chunks.Random},
		"laplace": {Kind: chunks.Laplace, Bins: 2}, "laplace:7": {Kind: chunks.Laplace, Bins: 7},
		"laplace:.1000": {Kind: chunks.Laplace, PerBin: 1000},
	} {
		if got, err := chunks.ParseOrder(text); err != nil || got != want {
			t.Errorf("ParseOrder(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "Random", "random:2", "laplace:", "laplace:.", "laplace:0", "laplace:.0", "laplace:-1", "laplace:1.5", "laplace:2147483648", "sorted "} {
		if got, err := chunks.ParseOrder(text); err == nil {
			t.Errorf("ParseOrder(%q) = %+v", text, got)
		}
	}
}

// TestArrange checks that every order is a permutation, and has the property that its
// name says.
func TestArrange(t *testing.T) {
	lengths := []int32{4, 1, 4, 9, 1, 7, 3}
	for text, want := range map[string][]int64{
		"default": {0, 1, 2, 3, 4, 5, 6}, "reverse": {6, 5, 4, 3, 2, 1, 0},
		"sorted": {1, 4, 6, 0, 2, 5, 3}, "sorted_reverse": {3, 5, 0, 2, 6, 1, 4},
	} {
		order, _ := chunks.ParseOrder(text)
		if diff := cmp.Diff(want, order.Arrange(7, lengths, 1, 0)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
	for _, text := range []string{"random", "laplace", "laplace:3", "laplace:.2", "laplace:100"} {
		order, _ := chunks.ParseOrder(text)
		a, b := order.Arrange(7, lengths, 1, 0), order.Arrange(7, lengths, 1, 1)
		if !slices.Equal(a, order.Arrange(7, lengths, 1, 0)) || slices.Equal(a, b) {
			t.Errorf("%s: %v and %v; want one order for each draw", text, a, b)
		}
		slices.Sort(a)
		if !slices.Equal(a, []int64{0, 1, 2, 3, 4, 5, 6}) {
			t.Errorf("%s is no permutation: %v", text, a)
		}
	}
}

// TestLaplace checks that lengths rise in one bin and fall in the next, and that empty
// bins take no time.
func TestLaplace(t *testing.T) {
	lengths := make([]int32, 20)
	for i := range lengths {
		lengths[i] = int32(i)
	}
	for text, bin := range map[string]int{"laplace:4": 5, "laplace:.5": 5, "laplace:20": 1, "laplace:2147483647": 1} {
		order, _ := chunks.ParseOrder(text)
		places := order.Arrange(20, lengths, 1, 0)
		for i := 0; i < 20 && bin > 1; i += bin {
			part := slices.Clone(places[i : i+bin])
			if slices.Sort(part); i/bin%2 == 1 {
				slices.Reverse(part)
			}
			if !slices.Equal(part, places[i:i+bin]) {
				t.Errorf("%s: bin %d is %v", text, i/bin, places[i:i+bin])
			}
		}
		if slices.IsSorted(places) {
			t.Errorf("%s: %v is not drawn", text, places)
		}
	}
}

// TestOrderProperties checks the properties that an order reports.
func TestOrderProperties(t *testing.T) {
	type properties struct{ isDefault, drawn, needsLengths bool }
	for text, want := range map[string]properties{
		"default": {isDefault: true}, "reverse": {}, "random": {drawn: true}, "sorted": {needsLengths: true}, "sorted_reverse": {needsLengths: true},
		"laplace:1": {drawn: true, needsLengths: true}, "laplace:.1": {drawn: true, needsLengths: true},
	} {
		order, err := chunks.ParseOrder(text)
		if got := (properties{order.IsDefault(), order.Drawn(), order.NeedsLengths()}); err != nil || got != want || order.String() != text {
			t.Errorf("%s: %v, %v, %+v; want %+v", text, order, err, got, want)
		}
	}
	if !(chunks.Order{}).IsDefault() {
		t.Error("the zero Order is not that of the data")
	}
	_, err := chunks.ParseOrder("longest")
	if want := "there are the orders default, reverse, sorted, sorted_reverse, random, laplace, laplace:N and laplace:.N"; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

// TestRandomOrderIsFair counts the positions of each of four sequences.
func TestRandomOrderIsFair(t *testing.T) {
	const draws = 6000
	var counts [4][4]int
	for draw := range int64(draws) {
		for at, place := range (chunks.Order{Kind: chunks.Random}).Arrange(4, nil, 5, draw) {
			counts[place][at]++
		}
	}
	for place, row := range counts {
		for at, n := range row {
			if n < draws/4-200 || n > draws/4+200 { // 6 standard deviations
				t.Errorf("sequence %d comes %d times of %d as number %d", place, n, draws, at)
			}
		}
	}
}

func TestPart(t *testing.T) {
	for n := range int64(12) {
		for parts := int64(1); parts < 15; parts++ {
			at := int64(0)
			for k := range parts {
				begin, end := chunks.Part(n, parts, k)
				if size := end - begin; begin != at || size != n/parts && (size != n/parts+1 || k >= n%parts) {
					t.Errorf("part %d of %d of %d is %d to %d", k, parts, n, begin, end)
				}
				at = end
			}
			if at != n {
				t.Errorf("%d parts of %d end at %d", parts, n, at)
			}
		}
	}
	if got := chunks.Share(math.MaxInt64-1, 1<<31-1, 1<<31-2); got < math.MaxInt64-(1<<33)-2 {
		t.Errorf("Share overflows: %d", got)
	}
}
