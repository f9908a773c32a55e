package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"millrace/internal/base/figures"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": number, "color": runColor, "shade": shade, "percent": percent,
}).Parse(pageText))

// page is the data of the template.
type page struct {
	Title    string
	Runs     []*Run
	Sections []section
	Rows     []summaryRow
	Matrices []matrixOf
	Inputs   []inputOf
}

// section is a part of the page with charts.
type section struct {
	Title  string
	Charts []titled
}

// titled is a chart with its name.
type titled struct {
	Title string
	Chart template.HTML
}

// summaryRow is a row of the summary: a figure for each run.
type summaryRow struct {
	Name   string
	Values []string // one per run; "" if a run has none
}

// matrixOf is the last confusion matrix of a run.
type matrixOf struct {
	Run, Metric string
	Matrix
}

// Names of the values of every logged step, in addition to the loss and the scalars of
// the signature.
const (
	lossName     = "loss"
	stepsName    = "steps_per_s"
	examplesName = "examples_per_s"
	waitName     = "input_wait"

	workersPrefix = "worker_seconds/" // seconds for a step, by the rank of a process
)

// Write writes the page of one run, or of several runs for comparison.
func Write(w io.Writer, runs []*Run) error {
	NameApart(runs)
	p := &page{Title: title(runs), Runs: runs, Rows: summary(runs)}
	for _, group := range groups(runs) {
		if err := p.addSection(group); err != nil {
			return err
		}
	}
	for _, r := range runs {
		for _, name := range seriesNames([]*Run{r}, func(r *Run) map[string][]Matrix { return r.Matrices }) {
			all := r.Matrices[name]
			p.Matrices = append(p.Matrices, matrixOf{r.Name, name, all[len(all)-1]})
		}
	}
	for _, r := range runs {
		if r.Input != nil {
			p.Inputs = append(p.Inputs, inputOf{r.Name, r.Input.Batches, stages(r.Input)})
		}
	}
	return pageTemplate.Execute(w, p)
}

// title names the runs.
func title(runs []*Run) string {
	var names []string
	for _, r := range runs {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

// group is the content of a section.
type group struct {
	title    string
	names    []string // names of series
	of       func(*Run) map[string]*Series
	fromZero bool
}

// training and evaluation return the series of a run.
func training(r *Run) map[string]*Series   { return r.Training }
func evaluation(r *Run) map[string]*Series { return r.Evaluation }

// groups returns the sections of the page, the most important one first.
func groups(runs []*Run) []group {
	throughput := []string{examplesName, stepsName, waitName}
	values := slices.DeleteFunc(seriesNames(runs, training), func(name string) bool {
		if strings.HasPrefix(name, workersPrefix) {
			throughput = append(throughput, name)
		}
		return slices.Contains(throughput, name)
	})
	return []group{
		{title: "Training", names: lossFirst(values), of: training},
		{title: "Evaluation", names: lossFirst(seriesNames(runs, evaluation)), of: evaluation},
		{title: "Throughput", names: throughput, of: training, fromZero: true},
	}
}

// lossFirst moves the loss to the front.
func lossFirst(names []string) []string {
	if i := slices.Index(names, lossName); i > 0 {
		names = slices.Insert(slices.Delete(names, i, i+1), 0, lossName)
	}
	return names
}

// addSection draws the series of a group, one chart per name. A group without series is
// omitted.
func (p *page) addSection(g group) error {
	s := section{Title: g.title}
	for _, name := range g.names {
		var curves []*Series
		found := false
		for _, r := range p.Runs {
			curve := g.of(r)[name]
			curves = append(curves, curve)
			found = found || curve != nil
		}
		if !found {
			continue
		}
		c, err := chart(curves, g.fromZero)
		if err != nil {
			return err
		}
		s.Charts = append(s.Charts, titled{label(name), c})
	}
	if len(s.Charts) > 0 {
		p.Sections = append(p.Sections, s)
	}
	return nil
}

// label is the heading of a chart.
func label(name string) string {
	switch name {
	case stepsName:
		return "steps per second"
	case examplesName:
		return "examples per second"
	case waitName:
		return "share of the time waiting for input"
	}
	return name
}

// summary returns the figures that the page begins with.
func summary(runs []*Run) []summaryRow {
	rows := []summaryRow{row("state", runs, state), row("last step logged", runs, func(r *Run) string { return figures.Count(r.Steps()) })}
	last := func(of func(*Run) map[string]*Series, name string) func(*Run) string {
		return func(r *Run) string {
			if p, ok := of(r)[name].Last(); ok {
				return number(p.Value)
			}
			return ""
		}
	}
	rows = append(rows, row("last training loss", runs, last(training, lossName)))
	for _, name := range seriesNames(runs, evaluation) {
		rows = append(rows, row("last evaluated "+name, runs, last(evaluation, name)))
	}
	rows = append(rows, row("examples per second, mean", runs, func(r *Run) string { return mean(r.Training[examplesName]) }))
	return append(rows, row("share of the time waiting for input, mean", runs, func(r *Run) string { return mean(r.Training[waitName]) }))
}

// row returns a figure of each run.
func row(name string, runs []*Run, of func(*Run) string) summaryRow {
	r := summaryRow{Name: name}
	for _, run := range runs {
		r.Values = append(r.Values, of(run))
	}
	return r
}

// Class returns the name of a class of a matrix, its number if it has none.
func (m *Matrix) Class(i int) string {
	if i < len(m.Classes) {
		return m.Classes[i]
	}
	return strconv.Itoa(i)
}

// state describes the end of a run, and says whether the run was never evaluated.
func state(r *Run) string {
	text := "not finished"
	if r.Finish != nil {
		text = fmt.Sprintf("finished at step %d, by %s", r.Finish.Step, r.Finish.Reason)
	}
	if len(r.Evaluation) == 0 && len(r.Matrices) == 0 {
		text += ", never evaluated"
	}
	return text
}

// mean returns the mean of a series' finite values, "" if there is none.
func mean(s *Series) string {
	sum, n := 0.0, 0
	for _, part := range finiteParts(s) {
		for _, p := range part {
			sum, n = sum+p.Y, n+1
		}
	}
	if n == 0 {
		return ""
	}
	return number(sum / float64(n))
}

// number formats a value for people.
func number(v float64) string {
	if a := math.Abs(v); a >= 1000 && a < 1e15 {
		return figures.Count(int64(math.Round(v)))
	}
	return fmt.Sprintf("%.4g", v)
}

// percent formats a share: "12.5%".
func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// runColor is the color of the i-th run in the charts.
func runColor(i int) template.CSS {
	c := colors[i%len(colors)]
	return template.CSS(fmt.Sprintf("rgb(%d,%d,%d)", c.R, c.G, c.B))
}

// shade is the background of a count in a confusion matrix: the darker, the
// larger its share of its row.
func shade(count float64, counts []float64) template.CSS {
	sum := 0.0
	for _, c := range counts {
		sum += c
	}
	if sum <= 0 {
		return "transparent"
	}
	return template.CSS(fmt.Sprintf("rgba(0,114,178,%.3f)", 0.85*count/sum))
}
