// Package figures formats counts, sizes and times for people, and reads sizes.
package figures

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Count groups the digits of a count: "1,797".
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Number is a rate or another number with three digits or more: "0.52", "9.31",
// "1,797".
func Number(f float64) string {
	if math.Abs(f) < 99.95 {
		return strconv.FormatFloat(f, 'g', 3, 64)
	}
	return Count(int64(math.Round(f)))
}

// Of is a count with a noun: "1 file", "1,797 files".
func Of(n int64, what string) string { return Plural(n, what, what+"s") }

// Plural is a count with a noun that has an irregular plural: "2 batches".
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Size is a number of bytes with three or four digits: "417 B", "12.3 kB".
func Size(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n)/1000, 0
	for v >= 999.95 && unit < 4 {
		v, unit = v/1000, unit+1
	}
	return fmt.Sprintf("%.1f %cB", v, units[unit])
}

// Seconds is a duration with at least two digits: "0.041 s", "12.3 s".
func Seconds(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s < 1:
		return fmt.Sprintf("%.3f s", s)
	case s < 10:
		return fmt.Sprintf("%.2f s", s)
	}
	return fmt.Sprintf("%.1f s", s)
}

// Milliseconds is a duration to the microsecond, with three digits or more: "0.052 ms",
// "43.1 ms", "1,204 ms".
func Milliseconds(d time.Duration) string {
	return Number(float64(d.Round(time.Microsecond))/float64(time.Millisecond)) + " ms"
}

// Rate is n per second; 0 if no time has passed.
func Rate(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}
