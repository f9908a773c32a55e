package analyze

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"millrace"
)

// Finding is something about a tensor that looks wrong, or a difference between two sets of data.
type Finding struct {
	Tensor string
	What   string
}

// String returns the finding as a sentence without a period.
func (f Finding) String() string { return fmt.Sprintf("%s: %s", f.Tensor, f.What) }

// Limits from which on something is a finding.
const (
	drift     = 0.1 // part of the values by which two distributions differ: the Kolmogorov-Smirnov distance
	skew      = 0.1 // difference between the shares of a string, or of empty examples
	far       = 20  // how many times farther than the 99% quantile the extreme is from the median
	leastMost = 20  // examples below which nothing is said of outliers
)

// Look lists what looks wrong with the data by themselves, ordered by the names of tensors.
func (s *Statistics) Look() (list []Finding) {
	for _, name := range slices.Sorted(maps.Keys(s.Tensors)) {
		t := s.Tensors[name]
		add := func(format string, args ...any) {
			list = append(list, Finding{name, fmt.Sprintf(format, args...)})
		}
		switch {
		case t.Values == 0:
			add("there is no value")
			continue
		case t.Distinct == 1 && t.Examples > 1:
			add("all values are the same")
		case t.DType == "string" && t.Distinct == t.Values && t.Values > leastMost:
			add("no string comes twice: it names the example, and a vocabulary of it teaches nothing")
		}
		if t.Empty > 0 {
			add("%d of %d examples have no value", t.Empty, t.Examples)
		}
		if n := t.All; n != nil {
			n.look(t, add)
		}
		for _, d := range s.Determines {
			if d.By == name {
				add("%s", d)
			}
		}
	}
	return list
}

func (n *Numbers) look(t *Tensor, add func(string, ...any)) {
	if n.NaN > 0 || n.Infinite > 0 {
		add("%d values are NaN and %d are infinite", n.NaN, n.Infinite)
	}
	if n.Least == nil || n.Quantiles == nil || t.Examples < leastMost {
		return
	}
	median := n.Quantiles["0.5"]
	if high := n.Quantiles["0.99"] - median; high > 0 && *n.Most-median > far*high {
		add("the largest value, %.6g, is far from the others: 99%% are at most %.6g", *n.Most, n.Quantiles["0.99"])
	}
	if low := median - n.Quantiles["0.01"]; low > 0 && median-*n.Least > far*low {
		add("the smallest value, %.6g, is far from the others: 99%% are at least %.6g", *n.Least, n.Quantiles["0.01"])
	}
}

// Compare lists how other data differ from these: missing tensors, other dtypes and shapes, other distributions.
func (s *Statistics) Compare(o *Statistics) (list []Finding) {
	names := slices.Collect(maps.Keys(s.Tensors))
	for name := range o.Tensors {
		if s.Tensors[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		a, b := s.Tensors[name], o.Tensors[name]
		add := func(format string, args ...any) {
			list = append(list, Finding{name, fmt.Sprintf(format, args...)})
		}
		switch {
		case a == nil:
			add("only the other data have this tensor")
		case b == nil:
			add("the other data do not have this tensor")
		case a.DType != b.DType || !slices.Equal(a.Shape, b.Shape):
			add("%s of shape %d here, %s of shape %d in the other data", a.DType, a.Shape, b.DType, b.Shape)
		default:
			a.compare(b, add)
		}
	}
	return list
}

func (t *Tensor) compare(o *Tensor, add func(string, ...any)) {
	if x, y := share(t.Empty, t.Examples), share(o.Empty, o.Examples); math.Abs(x-y) > skew {
		add("%.0f%% of the examples have no value here, %.0f%% in the other data", 100*x, 100*y)
	}
	for _, pair := range []struct {
		what string
		a, b *Numbers
	}{{"values", t.All, o.All}, {"lengths", t.Lengths, o.Lengths}, {"sizes of strings", t.Bytes, o.Bytes}} {
		if d := distance(pair.a, pair.b); d > drift {
			add("the distribution of %s differs for %.0f%% of them: median %.6g here, %.6g in the other data", pair.what, 100*d, pair.a.Quantiles["0.5"], pair.b.Quantiles["0.5"])
		}
	}
	if t.DType != "string" {
		return
	}
	most, word := 0.0, ""
	for _, w := range slices.Concat(t.Frequent, o.Frequent) {
		if d := math.Abs(t.shareOf(w.Text) - o.shareOf(w.Text)); d > most {
			most, word = d, w.Text
		}
	}
	if most > skew {
		add("the string %s is %.0f%% of all here, %.0f%% in the other data", millrace.QuoteData([]byte(word)), 100*t.shareOf(word), 100*o.shareOf(word))
	}
}

func share(n, of int64) float64 { return float64(n) / float64(max(of, 1)) }

// shareOf returns the share of a frequent string, 0 for others.
func (t *Tensor) shareOf(text string) float64 {
	for _, w := range t.Frequent {
		if w.Text == text {
			return share(w.Count, t.Values)
		}
	}
	return 0
}

// distance returns the largest difference between the parts of two sets of values that are below one value, as
// far as their quantiles say: at most 1, and 0 where one set is not known.
func distance(a, b *Numbers) (d float64) {
	if a == nil || b == nil || a.Least == nil || b.Least == nil {
		return 0
	}
	for _, pair := range [2][2]*Numbers{{a, b}, {b, a}} {
		for _, p := range pair[0].curve() {
			d = max(d, pair[1].outside(p))
		}
	}
	return d
}

// point is a value and the part of all values that is not larger.
type point struct{ x, part float64 }

// curve returns the known points of the distribution, in order.
func (n *Numbers) curve() []point {
	list := []point{{*n.Least, 0}, {*n.Most, 1}}
	for key, x := range n.Quantiles {
		if part, err := strconv.ParseFloat(key, 64); err == nil {
			list = append(list, point{x, part})
		}
	}
	slices.SortFunc(list, func(a, b point) int { return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.x, b.x)) })
	return list
}

// outside returns how far a point of another distribution is from what may be true of this one: between
// two known points the part of the values below one is anywhere between theirs.
func (n *Numbers) outside(p point) float64 {
	low, high := 0.0, 1.0
	for _, q := range n.curve() {
		if q.x <= p.x {
			low = max(low, q.part)
		}
		if q.x >= p.x {
			high = min(high, q.part)
		}
	}
	if high < low {
		low, high = high, low // several quantiles are this value
	}
	return max(low-p.part, p.part-high, 0)
}

// Read reads a file of statistics.
func Read(path string) (*Statistics, error) {
	s := &Statistics{}
	if err := read(path, s, "read statistics"); err != nil {
		return nil, err
	}
	if s.Format != Format {
		return nil, notWritten(path, "this is not a file of statistics; millrace analyze writes one")
	}
	for name, t := range s.Tensors {
		if t == nil {
			delete(s.Tensors, name)
		}
	}
	return s, nil
}
