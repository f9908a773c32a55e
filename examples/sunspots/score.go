package main

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// forecasts are the ways to forecast the next month, in the order of printing.
var forecasts = [...]string{"model", "last month again", "mean of the last 12"}

// misses sums the squared error of each forecast.
type misses struct {
	months  int
	squares [len(forecasts)]float64
}

// add counts one month.
func (m *misses) add(guesses [len(forecasts)]float64, actual float64) {
	m.months++
	for i, guess := range guesses {
		m.squares[i] += (guess - actual) * (guess - actual)
	}
}

// rms returns a forecast's root mean squared error, in sunspots.
func (m *misses) rms(forecast int) float64 {
	return math.Sqrt(m.squares[forecast] / float64(m.months))
}

// score holds the misses by decade, and of all months.
type score struct {
	decades []decade
	all     misses
}

// decade holds the misses of the months of ten years.
type decade struct {
	year int32 // the first year
	misses
}

// add counts one window: the months that the model saw, its forecast, and the
// observed number. month is YYYYMM, and months come in order.
func (s *score) add(month int32, history []float32, next, actual float32) {
	var year float64
	for _, v := range history[len(history)-12:] {
		year += float64(v) / 12
	}
	guesses := [len(forecasts)]float64{float64(next), float64(history[len(history)-1]), year}

	first := month / 1000 * 10
	if n := len(s.decades); n == 0 || s.decades[n-1].year != first {
		s.decades = append(s.decades, decade{year: first})
	}
	s.decades[len(s.decades)-1].add(guesses, float64(actual))
	s.all.add(guesses, float64(actual))
}

// gain returns how much smaller the model's error is than the error of
// repeating the last month's number, as a fraction.
func (s *score) gain() float64 {
	return 1 - s.all.rms(0)/s.all.rms(1)
}

// print writes a row for each decade, one for all, and the comparison.
func (s *score) print(out io.Writer) error {
	var b strings.Builder
	b.WriteString("root mean squared error\n         months")
	for _, name := range forecasts {
		fmt.Fprintf(&b, "  %s", name)
	}
	b.WriteByte('\n')
	for _, d := range s.decades {
		d.row(&b, fmt.Sprintf("%ds", d.year))
	}
	s.all.row(&b, "all")
	gain, word := s.gain(), "smaller"
	if gain < 0 {
		gain, word = -gain, "larger"
	}
	fmt.Fprintf(&b, "\nthe model's error is %.1f %% %s than that of saying last month's number again\n", 100*gain, word)
	_, err := io.WriteString(out, b.String())
	return err
}

// row writes one row of the table.
func (m *misses) row(b *strings.Builder, label string) {
	fmt.Fprintf(b, "%-8s %6d", label, m.months)
	for i, name := range forecasts {
		fmt.Fprintf(b, "  %*.2f", len(name), m.rms(i))
	}
	b.WriteByte('\n')
}
