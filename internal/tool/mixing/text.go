package mixing

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"millrace"
	"millrace/internal/base/figures"
	"millrace/internal/base/terminal"
)

// maxFiles is the number of files that the text lists unless all are requested.
const maxFiles = 20

// WriteText writes the report as tables. With all, it lists every file.
func (r *Report) WriteText(w io.Writer, all bool) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s: %s of %s in %s of %s, seed %d\n\n", millrace.Quote(r.Path),
		figures.Of(r.Records, "record"), figures.Of(int64(len(r.Files)), "file"),
		figures.Plural(r.Batches, "batch", "batches"), figures.Count(min(r.BatchSize, r.Records)), r.Seed)
	r.mixingTable(b)
	b.WriteByte('\n')
	r.fileTable(b, all)
	_, err := io.WriteString(w, terminal.Text(b.String()))
	return err
}

// newTable returns a writer of columns that are separated by tabs.
func newTable(b *strings.Builder) *tabwriter.Writer { return tabwriter.NewWriter(b, 0, 0, 2, ' ', 0) }

func (r *Report) mixingTable(b *strings.Builder) {
	t := newTable(b)
	c, e := &r.Config, &r.Exact
	fmt.Fprintf(t, "\tCONFIG\tEXACT\n")
	fmt.Fprintf(t, "distance of neighbours, mean\t%s\t%s\n", figures.Number(c.MeanDistance), figures.Number(e.MeanDistance))
	fmt.Fprintf(t, "distance of neighbours, median\t%s\t%s\n", figures.Count(c.MedianDistance), figures.Count(e.MedianDistance))
	fmt.Fprintf(t, "correlation with the order in the file\t%.3f\t%.3f\n", c.OrderCorrelation, e.OrderCorrelation)
	fmt.Fprintf(t, "distance of file shares, batch from epoch\t%.3f\t%.3f\n", c.ShareDistance, e.ShareDistance)
	t.Flush() // a strings.Builder never fails
}

func (r *Report) fileTable(b *strings.Builder, all bool) {
	files := r.Files
	if len(files) > maxFiles && !all {
		files = files[:maxFiles]
	}
	t := newTable(b)
	fmt.Fprintf(t, "FILE\tRECORDS\tSHARE\tOF A BATCH\tEXACT\n")
	for _, f := range files {
		fmt.Fprintf(t, "%s\t%s\t%.1f%%\t%s\t%s\n", millrace.Quote(f.Name), figures.Count(f.Records), 100*f.Share, f.Config, f.Exact)
	}
	t.Flush()
	if left := len(r.Files) - len(files); left > 0 {
		fmt.Fprintf(b, "and %s more (--all shows them)\n", figures.Count(int64(left)))
	}
}
