package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// row is one comparison: a figure of Millrace and one of Python in every round.
type row struct {
	name   string
	ours   func(r round) float64
	theirs func(r round) float64
	unit   unit
	target target
}

// target is the target of a row. The zero value is no target.
type target struct {
	atLeast float64 // ours / theirs; 0 = none
	atMost  float64 // ours / theirs; 0 = none
	limit   float64 // ours alone, at most; 0 = none
}

// unit prints a figure.
type unit func(v float64) string

func rate(v float64) string     { return fmt.Sprintf("%.0f records/s", v) }
func seconds(v float64) string  { return fmt.Sprintf("%.2f s", v) }
func megabyte(v float64) string { return fmt.Sprintf("%.0f MB", v/1e6) }

// table prints comparisons and returns whether every target is met. Figures are medians
// over the rounds; a ratio is the median of the ratios of all rounds, because a
// slowdown of the machine affects both figures of a round.
func table(out io.Writer, rounds []round, rows []row) bool {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tmillrace\tpython\tratio\ttarget\t")
	all := true
	for _, r := range rows {
		ours, ratio := over(rounds, r.ours), over(rounds, func(x round) float64 { return r.ours(x) / r.theirs(x) })
		met := r.target.met(ours, ratio)
		all = all && met
		fmt.Fprintf(w, "%s\t%s\t%s\t%.3g\t%s\t%s\n",
			r.name, r.unit(ours), r.unit(over(rounds, r.theirs)), ratio, r.target, r.target.verdict(met))
	}
	w.Flush()
	fmt.Fprintf(out, "\nMedians of %d rounds.\n", len(rounds))
	return all
}

// over returns the median of a figure over all rounds.
func over(rounds []round, figure func(r round) float64) float64 {
	values := make([]float64, len(rounds))
	for i, r := range rounds {
		values[i] = figure(r)
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2
	}
	return values[middle]
}

// met reports whether a figure and its ratio reach the target.
func (t target) met(ours, ratio float64) bool {
	return (t.atLeast == 0 || ratio >= t.atLeast) &&
		(t.atMost == 0 || ratio <= t.atMost) &&
		(t.limit == 0 || ours <= t.limit)
}

// verdict returns the outcome for the table, "" without a target.
func (t target) verdict(met bool) string {
	switch {
	case t == target{}:
		return ""
	case met:
		return "PASS"
	}
	return "below target"
}

// String returns the target as the table shows it.
func (t target) String() string {
	switch {
	case t.atLeast != 0:
		return fmt.Sprintf(">= %g", t.atLeast)
	case t.limit != 0:
		return fmt.Sprintf("<= %g, <= %g s", t.atMost, t.limit)
	case t.atMost != 0:
		return fmt.Sprintf("<= %g", t.atMost)
	}
	return ""
}
