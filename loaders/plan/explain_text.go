package plan

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"millrace"
	"millrace/internal/base/figures"
	"millrace/loaders/processing"
	"millrace/loaders/stage"
)

// maxShown is how many files a printed plan names.
const maxShown = 10

func (e *Explanation) writeHead(b *strings.Builder) {
	w := columns(b)
	fmt.Fprintf(w, "config\t%s, type %s\n", millrace.Quote(e.Config), e.Type)
	fmt.Fprintf(w, "manifest\t%s: %ss, compression %s\n", millrace.Quote(e.Manifest), e.Records, e.Compression)
	if e.List != "" {
		fmt.Fprintf(w, "list\t%s\n", millrace.Quote(e.List))
	}
	drawn := ""
	if !e.SeedGiven {
		drawn = ", drawn for this run"
	}
	fmt.Fprintf(w, "seed\t%d%s\n", e.Seed, drawn)
	w.Flush() // a strings.Builder takes everything
}

func (e *Explanation) writeFiles(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s\n", figures.Plural(int64(len(e.Files)), "file", "files"))
	w := columns(b)
	for _, f := range e.Files[:min(len(e.Files), maxShown)] {
		size := "remote"
		if f.Bytes >= 0 {
			size = figures.Plural(f.Bytes, "byte", "bytes")
		}
		fmt.Fprintf(w, "  %s\t%s\n", f.Path, size)
	}
	w.Flush()
	if n := len(e.Files) - maxShown; n > 0 {
		fmt.Fprintf(b, "  and %s more\n", figures.Count(int64(n)))
	}
}

func (e *Explanation) writeStages(b *strings.Builder) {
	b.WriteString("\nstages\n")
	w := columns(b)
	for _, s := range e.Stages {
		fmt.Fprintf(w, "  %s\t%s\n", s.Name, millrace.Quote(s.What))
		for _, t := range s.Tensors {
			fmt.Fprintf(w, "  \t  %s\t%s\t%s%s\n", millrace.Quote(t.Name), t.DType, unknownMarked(t.Shape), padding(s, t))
		}
	}
	w.Flush()
}

func (e *Explanation) writeRewrites(b *strings.Builder) {
	b.WriteString("\nrewrites\n")
	w := columns(b)
	for _, r := range e.Rewrites {
		verdict := "not applied"
		if r.Applied {
			verdict = "applied"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\n", r.Name, verdict, r.Why)
	}
	w.Flush()
}

// writeInGo lists the stages that keep other processes from running the graph.
func (e *Explanation) writeInGo(b *strings.Builder) {
	if len(e.InGo) == 0 {
		return
	}
	b.WriteString("\nin Go\n")
	w := columns(b)
	for _, s := range e.InGo {
		fmt.Fprintf(w, "  %s\t%s\n", s.Stage, s.Why)
	}
	w.Flush()
}

// writeService says what the workers of a data service do, and what this process.
func (e *Explanation) writeService(b *strings.Builder) {
	if e.Service == nil {
		return
	}
	b.WriteString("\nservice\n")
	w := columns(b)
	work := "files to batch, in blocks of about " + figures.Size(e.Service.BlockBytes) + " of the order"
	at := e.Service.Worker
	if at == nil || !at.Only {
		fmt.Fprintf(w, "  workers\t%s\t%s\n", millrace.Quote(e.Service.Address), work)
	}
	if at != nil {
		fmt.Fprintf(w, "  a worker\there\t%s, taken from memory\n", work)
	}
	blocks := "orders the blocks"
	if e.Service.AnyOrder {
		blocks = "takes the blocks as they come"
	}
	fmt.Fprintf(w, "  here\t\t%s, cuts batches from them, and reads those that do not come\n", blocks)
	w.Flush()
}

// padding describes how much of a tensor is padding that the stage adds.
func padding(s Stage, t stage.Tensor) string {
	switch {
	case s.Name != stage.PaddedBatchName || len(t.Shape) == 1: // a scalar of each example
		return ""
	case t.Padding != nil:
		return fmt.Sprintf("\t%.0f%% padding", 100**t.Padding)
	}
	return "\tpadding not known yet"
}

// columns returns a writer that aligns columns separated by tabs.
func columns(b *strings.Builder) *tabwriter.Writer {
	return tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
}

// unknownMarked returns a shape with a question mark for each unknown.
func unknownMarked(shape []int64) string {
	return strings.ReplaceAll(processing.FormatShape(shape), "-1", "?")
}
