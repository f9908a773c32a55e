package analyze

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"millrace"
	"millrace/internal/base/figures"
	"millrace/loaders/processing"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Page is a page of statistics: a histogram and a table for each tensor, what looks wrong, and, if Other is set,
// what differs from other data.
type Page struct {
	Title   string
	Summary string
	Wrong   []Finding
	Other   string // name of the file of the other statistics, "" for none
	Differ  []Finding
	Tensors []pageTensor
}

type pageTensor struct {
	Name, What string
	Chart      *chart
	Rows       []pageRow
}

type pageRow struct{ Name, Value string }

// chart is a histogram, 320 units wide and 90 high.
type chart struct {
	Label, Least, Most string
	Bars               []bar
	Line               string // path of the histogram of the other data
}

type bar struct{ X, Y, Height float64 }

// NewPage returns the page of statistics. other may be nil.
func NewPage(title string, s, other *Statistics, otherName string) *Page {
	p := &Page{Title: title, Summary: figures.Of(s.Examples, "example") + ".", Wrong: s.Look()}
	if s.Filtered > 0 {
		p.Summary += fmt.Sprintf(" Filters did not keep %s.", figures.Of(s.Filtered, "other"))
	}
	if other != nil {
		p.Other, p.Differ = otherName, s.Compare(other)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tensors)) {
		t := s.Tensors[name]
		x := pageTensor{Name: name, What: t.DType + " " + processing.FormatShape(t.Shape), Rows: t.rows()}
		n, o := t.shown(), (*Numbers)(nil)
		if other != nil && other.Tensors[name] != nil {
			o = other.Tensors[name].shown()
		}
		if n != nil {
			x.Chart = n.chart(o)
		}
		if t.All == nil && t.Bytes != nil && x.Chart != nil {
			x.Chart.Label += " of sizes in bytes"
		}
		p.Tensors = append(p.Tensors, x)
	}
	return p
}

// shown returns the numbers whose histogram is shown: the values, or the sizes of strings.
func (t *Tensor) shown() *Numbers {
	if t.All != nil {
		return t.All
	}
	return t.Bytes
}

func number(x float64) string { return fmt.Sprintf("%.6g", x) }

// rows returns the table of a tensor.
func (t *Tensor) rows() (rows []pageRow) {
	add := func(name, format string, args ...any) {
		rows = append(rows, pageRow{name, fmt.Sprintf(format, args...)})
	}
	add("values", "%d", t.Values)
	if t.Empty > 0 {
		add("examples without a value", "%d", t.Empty)
	}
	about := ""
	if t.Estimated {
		about = "about "
	}
	add("different values", "%s%d", about, t.Distinct)
	if n := t.All; n != nil && n.Least != nil {
		add("mean", "%s", number(n.Mean))
		add("standard deviation", "%s", number(n.Std))
		add("1%, median, 99%", "%s, %s, %s", number(n.Quantiles["0.01"]), number(n.Quantiles["0.5"]), number(n.Quantiles["0.99"]))
		add("zeros", "%d", n.Zeros)
	}
	if n := t.All; n != nil && n.NaN+n.Infinite > 0 {
		add("NaN, infinite", "%d, %d", n.NaN, n.Infinite)
	}
	for _, x := range []struct {
		name string
		n    *Numbers
	}{{"values of an example", t.Lengths}, {"bytes", t.Bytes}} {
		if x.n != nil && x.n.Least != nil {
			add(x.name, "%s to %s, median %s", number(*x.n.Least), number(*x.n.Most), number(x.n.Quantiles["0.5"]))
		}
	}
	for _, w := range t.Frequent[:min(len(t.Frequent), 8)] {
		add(millrace.QuoteData([]byte(w.Text)), "%d", w.Count)
	}
	return rows
}

// chart returns the histogram, with a line for other data in the same ranges, nil where there is none.
func (n *Numbers) chart(other *Numbers) *chart {
	if len(n.Histogram) != bars || n.Least == nil {
		return nil
	}
	c := &chart{Label: "histogram", Least: number(*n.Least), Most: number(*n.Most)}
	var line []float64
	if other != nil && len(other.Histogram) == bars && other.Least != nil {
		line = other.inRanges(*n.Least, *n.Most)
	}
	highest := slices.Max(slices.Concat(n.Histogram, line, []float64{1e-12}))
	height := func(part float64) float64 { return math.Round(880*part/highest) / 10 }
	for i, part := range n.Histogram {
		h := height(part)
		c.Bars = append(c.Bars, bar{X: float64(10 * i), Y: 90 - h, Height: h})
	}
	var path strings.Builder
	for i, part := range line {
		fmt.Fprintf(&path, "%c%d %gH%d", "ML"[min(i, 1)], 10*i, 90-height(part), 10*i+9)
	}
	c.Line = path.String()
	return c
}

// inRanges returns the parts of the values in equal ranges from least to most. The values of a bar are taken as
// evenly spread.
func (n *Numbers) inRanges(least, most float64) []float64 {
	parts := make([]float64, bars)
	width, own := (most-least)/bars, (*n.Most-*n.Least)/bars
	for i, part := range n.Histogram {
		from := *n.Least + float64(i)*own
		for k := range parts {
			low := least + float64(k)*width
			if common := min(from+own, low+width) - max(from, low); common > 0 {
				parts[k] += part * common / own
			}
		}
	}
	return parts
}

// Write writes the page as HTML, without links to other files.
func (p *Page) Write(w io.Writer) error { return pageTemplate.Execute(w, p) }
