package inspect

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"millrace"
	"millrace/internal/base/figures"
	"millrace/internal/base/terminal"
)

// maxFiles is the number of files that the text lists unless all are requested.
const maxFiles = 20

// WriteText writes the report as tables. They are at most 80 columns wide
// unless names are long. With all, it lists every file.
func (r *Report) WriteText(w io.Writer, all bool) error {
	b := &strings.Builder{}
	r.summary(b)
	r.fileTable(b, all)
	r.featureTable(b)
	for i, n := range r.Notes {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "note: %s\n", n)
	}
	_, err := io.WriteString(w, terminal.Text(b.String()))
	return err
}

func (r *Report) summary(b *strings.Builder) {
	kind := "Example"
	if r.Sequence {
		kind = "SequenceExample"
	}
	fmt.Fprintf(b, "%s: %s, %s, %s, %s", millrace.Quote(r.Path), figures.Of(int64(len(r.Files)), "file"), r.recordsText(), figures.Size(r.Bytes), kind)
	if !r.HasManifest {
		b.WriteString(", no manifest")
	}
	if r.Sample > 0 && r.Parsed < r.Records {
		fmt.Fprintf(b, "; parsed %s", figures.Count(r.Parsed))
	}
	b.WriteString("\n\n")
}

func (r *Report) recordsText() string {
	s := figures.Of(r.Records, "record")
	if r.AtLeast {
		s = "at least " + s
	}
	return s
}

func (r *Report) fileTable(b *strings.Builder, all bool) {
	files := r.Files
	if len(files) > maxFiles && !all {
		files = files[:maxFiles]
	}
	t := newTable(b, "FILE", ">RECORDS", ">SIZE", ">LARGEST", "COMPRESSION")
	for _, f := range files {
		count := figures.Count(f.Records)
		if f.AtLeast {
			count += "+"
		}
		state := f.Compression.String()
		if f.Damaged {
			state += ", damaged"
		}
		t.row(shorten(f.Path, 36), count, figures.Size(f.Bytes), figures.Size(f.MaxRecord), state)
	}
	t.flush()
	if left := len(r.Files) - len(files); left > 0 {
		fmt.Fprintf(b, "and %s more (--all shows them)\n", figures.Count(int64(left)))
	}
}

func (r *Report) featureTable(b *strings.Builder) {
	if len(r.Features) == 0 {
		b.WriteString("\nno features\n")
		return
	}
	b.WriteByte('\n')
	t := newTable(b, "FEATURE", "KIND", ">RECORDS", ">VALUES", "RANGE")
	for _, f := range r.Features {
		kind := strings.Join(f.Kinds, "/")
		if f.List {
			kind += " list"
		}
		t.row(shorten(f.Name, 24), kind, figures.Count(f.Records), f.valuesText(), f.rangeText())
	}
	t.flush()
}

// valuesText returns the number of values: "64", "1-5", or "2-9 x 3" for a list
// of 2 to 9 steps with 3 values each.
func (f *Feature) valuesText() string {
	if f.Steps == nil {
		return f.Values.String()
	}
	if f.Steps.Max == 0 {
		return "0"
	}
	return f.Steps.String() + " x " + f.Values.String()
}

// String returns "3" or "3-9".
func (r Range) String() string {
	if r.Min == r.Max {
		return strconv.FormatInt(r.Min, 10)
	}
	return fmt.Sprintf("%d-%d", r.Min, r.Max)
}

// rangeText describes the range of the values.
func (f *Feature) rangeText() string {
	var parts []string
	if f.Ints != nil {
		parts = append(parts, between(strconv.FormatInt(f.Ints.Min, 10), strconv.FormatInt(f.Ints.Max, 10)))
	}
	if x := f.Floats; x != nil {
		if x.Finite > 0 {
			parts = append(parts, between(floatText(x.Min), floatText(x.Max)))
		}
		if x.NaNs > 0 {
			parts = append(parts, figures.Count(x.NaNs)+" NaN")
		}
		if x.Infs > 0 {
			parts = append(parts, figures.Count(x.Infs)+" Inf")
		}
	}
	if f.Bytes != nil {
		what := " bytes"
		if f.Text {
			what = " bytes of text"
		}
		parts = append(parts, f.Bytes.String()+what)
	}
	return strings.Join(parts, ", ")
}

func between(low, high string) string {
	if low == high {
		return low
	}
	return low + " to " + high
}

func floatText(v float32) string { return strconv.FormatFloat(float64(v), 'g', 6, 32) }

// more returns " and 3 more" for 3, and "" for 0.
func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// shorten makes a name short enough for a column and safe to print. It cuts out
// the middle, because the ends of names differ most.
func shorten(name string, width int) string {
	name = strings.TrimSuffix(strings.TrimPrefix(strconv.Quote(name), `"`), `"`)
	if utf8.RuneCountInString(name) <= width {
		return name
	}
	runes := []rune(name)
	tail := width / 2
	return string(runes[:width-tail-3]) + "..." + string(runes[len(runes)-tail:])
}

// table aligns columns. A column whose title starts with > is aligned to the
// right.
type table struct {
	b     *strings.Builder
	right []bool
	rows  [][]string
}

func newTable(b *strings.Builder, titles ...string) *table {
	t := &table{b: b}
	row := make([]string, len(titles))
	for i, title := range titles {
		right := strings.HasPrefix(title, ">")
		t.right = append(t.right, right)
		row[i] = strings.TrimPrefix(title, ">")
	}
	t.rows = append(t.rows, row)
	return t
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// flush writes the table.
func (t *table) flush() {
	width := make([]int, len(t.right))
	for _, row := range t.rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		line := ""
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if t.right[i] {
				cell, pad = pad+cell, ""
			}
			line += cell + pad + "  "
		}
		t.b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
