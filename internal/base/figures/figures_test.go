package figures_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"millrace/internal/base/figures"
)

func ExampleOf() {
	fmt.Println(figures.Of(1, "file"), figures.Of(1797, "record"), figures.Size(12_345))
	// Output: 1 file 1,797 records 12.3 kB
}

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", -999: "-999", -1000: "-1,000", 1797: "1,797", 1234567: "1,234,567"} {
		if got := figures.Count(n); got != want {
			t.Errorf("Count(%d)\n got %s\nwant %s", n, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for f, want := range map[float64]string{0: "0", 0.5213: "0.521", 9.3149: "9.31", 99.94: "99.9", 99.96: "100", 1796.5: "1,797", -0.25: "-0.25"} {
		if got := figures.Number(f); got != want {
			t.Errorf("Number(%v)\n got %s\nwant %s", f, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 kB", 999_949: "999.9 kB", 999_950: "1.0 MB", 12_345_678_901: "12.3 GB", math.MaxInt64: "9223.4 PB"} {
		if got := figures.Size(n); got != want {
			t.Errorf("Size(%d)\n got %s\nwant %s", n, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0.000 s", 41 * time.Millisecond: "0.041 s", 1234 * time.Millisecond: "1.23 s", time.Hour: "3600.0 s"} {
		if got := figures.Seconds(d); got != want {
			t.Errorf("Seconds(%v)\n got %s\nwant %s", d, got, want)
		}
	}
	if got := figures.Rate(10, 4*time.Second); got != 2.5 || figures.Rate(10, 0) != 0 {
		t.Errorf("Rate: got %v", got)
	}
}

func TestMilliseconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 499: "0 ms", 1_234: "0.001 ms", 52_000: "0.052 ms", 43_100_000: "43.1 ms", 1_203_700_000: "1,204 ms",
	} {
		if got := figures.Milliseconds(d); got != want {
			t.Errorf("%d ns: %s, want %s", int64(d), got, want)
		}
	}
}
