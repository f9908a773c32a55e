// Package preview makes a page of the first examples of a loader config: images as images, sounds
// as players, spectrograms as pictures, and the rest as text. What random steps draw is shown
// several times.
//
//	page, err := preview.Read(ctx, plan, &preview.Options{Examples: 8, Draws: 3})
//	if err != nil {
//		return err
//	}
//	err = page.Write(w)
package preview

import (
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"millrace/internal/base/figures"
	"millrace/loaders"
	"millrace/loaders/permutation"
	"millrace/loaders/processing"
	"millrace/loaders/stage"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Options say how much a page shows.
type Options struct {
	Examples int // how many; 0: 8
	Draws    int // how often random steps draw; 0: 3

	Open *loaders.Options // how loaders are opened; may be nil
}

// Page is the data of a page.
type Page struct {
	Title    string
	Summary  string
	Steps    []string
	Examples []Example
}

// Example is an example of a page.
type Example struct {
	Number  int // counted from 1
	Tensors []Tensor
}

// Tensor is a tensor of an example: once, or as often as random steps draw where these give
// different values.
type Tensor struct {
	Name  string
	What  string // dtype and shape
	Draws []View
}

// View is what is shown of a value.
type View struct {
	Image, Sound template.URL
	Alt          string
	Text         string

	same string // identifies the value
}

// Read reads the first examples of a plan. It reads them as often as random steps are to draw, each
// time with another seed.
func Read(ctx context.Context, p *loaders.Plan, o *Options) (*Page, error) {
	if o == nil {
		o = &Options{}
	}
	n, draws := o.Examples, o.Draws
	if n == 0 {
		n = 8
	}
	if draws == 0 {
		draws = 3
	}
	if !p.Draws() {
		draws = 1
	}
	page := &Page{Title: filepath.Base(p.Path), Steps: stepsOf(p)}
	for draw := range draws {
		q := *p
		q.Seed = p.Seed + int64(draw)
		if err := page.read(ctx, single(&q), n, o.Open); err != nil {
			return nil, err
		}
	}
	page.Summary = fmt.Sprintf("The first %s in mode %s", figures.Of(int64(len(page.Examples)), "example"), p.Mode)
	if draws > 1 {
		page.Summary += fmt.Sprintf("; what random steps change is shown with %d seeds", draws)
	}
	page.Summary += "."
	return page, nil
}

// single returns the plan of one epoch, in the order of the files, in batches of one example.
func single(p *loaders.Plan) *loaders.Plan {
	q, s := *p, *p.Spec
	q.Spec = &s
	s.Epochs, s.BatchSize, s.DropRemainder, s.Bucket, s.Shuffle, s.Sloppy = 1, 1, false, nil, nil, false
	s.BatchSteps = nil
	if s.Unbatched == nil { // steps that see batches see padded ones
		s.Padding = nil
	}
	if s.Records != nil {
		r := *s.Records
		r.Shuffling, s.Records = permutation.None, &r
	}
	return &q
}

// stepsOf lists the processing steps as `millrace plan` prints them.
func stepsOf(p *loaders.Plan) (list []string) {
	all := stage.All[stage.Step](p.Stages())
	if b, ok := stage.Find[stage.BatchSteps](p.Stages()); ok {
		all = append(all, slices.Concat(b.Behind...)...)
	}
	for _, x := range all {
		e := x.Explain()
		list = append(list, strings.TrimSpace(e.Name+" "+e.What))
	}
	return list
}

// read adds the values of the examples of a plan to the page.
func (page *Page) read(ctx context.Context, p *loaders.Plan, n int, open *loaders.Options) error {
	l, err := loaders.OpenPlan(p, open)
	if err != nil {
		return err
	}
	defer l.Close()
	at := 0
	for b, err := range l.Run(ctx, nil) {
		if err != nil {
			return err
		}
		if at == len(page.Examples) {
			page.Examples = append(page.Examples, Example{Number: at + 1})
		}
		e := &page.Examples[at]
		for i, name := range b.Names() {
			t := b.Tensor(name)
			shape := t.Shape()[1:]
			v, err := view(t, shape)
			if err != nil {
				return err
			}
			if i == len(e.Tensors) {
				e.Tensors = append(e.Tensors, Tensor{Name: name, What: fmt.Sprintf("%s %s", t.DataType(), processing.FormatShape(shape))})
			}
			to := &e.Tensors[i]
			if !slices.ContainsFunc(to.Draws, func(w View) bool { return w.same == v.same }) {
				to.Draws = append(to.Draws, v)
			}
		}
		if at++; at == n {
			break
		}
	}
	return nil
}

// Write writes the page as HTML, without links to other files.
func (page *Page) Write(w io.Writer) error { return pageTemplate.Execute(w, page) }
