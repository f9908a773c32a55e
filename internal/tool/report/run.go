package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"millrace"
	"millrace/estimator/metrics"
	"millrace/estimator/run"
)

// Run is the content of a RUN_DIR.
type Run struct {
	Dir        string
	Name       string              // name of the folder; unique in a report
	Config     string              // run.json, indented
	Training   map[string]*Series  // key: the loss, the learning rate, throughput
	Evaluation map[string]*Series  // key: the metric's name
	Matrices   map[string][]Matrix // confusion matrices by the metric's name, in the order of their steps
	Input      *run.Input          // the stages of the input pipeline; nil: unknown
	Finish     *run.Finish         // nil: the run has not ended
}

// Series is a value at several steps, in the order of the steps.
type Series struct{ Points []Point }

// Point is a value at a step. It may be NaN or infinite.
type Point struct {
	Step  int64
	Value float64
}

// Matrix is a confusion matrix: a row for each label, a column for each
// prediction.
type Matrix struct {
	Step    int64
	Counts  [][]float64
	Classes []string       // names of rows and columns; nil: numbers
	Figures []ClassFigures // figures of each class; nil where Classes is
}

// ClassFigures are the figures of a class, as the log has them.
type ClassFigures = metrics.ClassFigures

// Last returns the last point; false if there is none.
func (s *Series) Last() (Point, bool) {
	if s == nil || len(s.Points) == 0 {
		return Point{}, false
	}
	return s.Points[len(s.Points)-1], true
}

// Steps returns the last step in the log.
func (r *Run) Steps() int64 {
	var last int64
	for _, all := range []map[string]*Series{r.Training, r.Evaluation} {
		for _, s := range all {
			if p, ok := s.Last(); ok {
				last = max(last, p.Step)
			}
		}
	}
	return last
}

// Read reads a RUN_DIR.
func Read(dir string) (*Run, error) {
	folder := run.Folder(dir)
	text, err := folder.ConfigText()
	if err != nil {
		return nil, err
	}
	if text == nil {
		return nil, fileError(dir, "the folder is no run: it has no %s", filepath.Base(folder.Config()))
	}
	var config bytes.Buffer
	if err := json.Indent(&config, text, "", "  "); err != nil {
		return nil, fileError(folder.Config(), "damaged: %v", err)
	}
	r := &Run{
		Dir: dir, Name: filepath.Base(filepath.Clean(dir)), Config: config.String(),
		Training: map[string]*Series{}, Evaluation: map[string]*Series{}, Matrices: map[string][]Matrix{},
	}
	if r.Finish, err = folder.Finished(); err != nil {
		return nil, err
	}
	if r.Input, err = folder.Input(); err != nil {
		return nil, err
	}
	return r, r.readLog(folder.Log())
}

// readLog reads log.ndjson. An ongoing run may be writing its last line.
func (r *Run) readLog(path string) error {
	for line, err := range run.LogLines(path) {
		if err != nil {
			return err
		}
		if !line.Whole {
			break
		}
		if err := r.addLine(line.Text); err != nil {
			return fileError(path, "line %d: %w", line.Number, err)
		}
	}
	return nil
}

// addLine adds a line of the log: of a logged step or of an evaluation.
func (r *Run) addLine(text []byte) error {
	var line struct {
		Step       *int64                 `json:"step"`
		Evaluation map[string]loggedValue `json:"evaluation"`
		Note       *string                `json:"note"`
	}
	if err := json.Unmarshal(text, &line); err != nil {
		return err
	}
	if line.Step == nil {
		return errors.New("it has no step")
	}
	if line.Note != nil {
		return nil
	}
	if line.Evaluation != nil {
		r.addEvaluation(*line.Step, line.Evaluation)
		return nil
	}
	var values map[string]loggedValue
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	delete(values, "step")
	for name, v := range values {
		add(r.Training, name, Point{*line.Step, v.number})
	}
	return nil
}

// addEvaluation adds the metrics of an evaluation.
func (r *Run) addEvaluation(step int64, values map[string]loggedValue) {
	for name, v := range values {
		if v.matrix != nil {
			r.Matrices[name] = append(r.Matrices[name], Matrix{step, v.matrix, v.classes, v.figures})
		} else {
			add(r.Evaluation, name, Point{step, v.number})
		}
	}
}

// add adds a point to a series.
func add(all map[string]*Series, name string, p Point) {
	if all[name] == nil {
		all[name] = &Series{}
	}
	all[name].Points = append(all[name].Points, p)
}

// loggedValue is a value in the log: a number, a matrix, or the name of a number that
// JSON does not have.
type loggedValue struct {
	number  float64
	matrix  [][]float64
	classes []string
	figures []ClassFigures
}

// UnmarshalJSON reads a value.
func (v *loggedValue) UnmarshalJSON(text []byte) error {
	switch strings.Trim(string(text), `"`) {
	case "NaN":
		v.number = math.NaN()
		return nil
	case "Infinity":
		v.number = math.Inf(1)
		return nil
	case "-Infinity":
		v.number = math.Inf(-1)
		return nil
	}
	switch {
	case bytes.HasPrefix(text, []byte("[")):
		if err := json.Unmarshal(text, &v.matrix); err != nil {
			return err
		}
		return checkMatrix(v.matrix)
	case bytes.HasPrefix(text, []byte("{")):
		return v.named(text)
	}
	return json.Unmarshal(text, &v.number)
}

// named reads a matrix of classes with names.
func (v *loggedValue) named(text []byte) error {
	var m struct {
		Classes  []string       `json:"classes"`
		Matrix   [][]float64    `json:"matrix"`
		PerClass []ClassFigures `json:"per_class"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	if n := len(m.Matrix); n == 0 || len(m.Classes) != n || len(m.PerClass) != n {
		return fmt.Errorf("a confusion matrix of %d rows has %d names of classes", n, len(m.Classes))
	}
	v.matrix, v.classes, v.figures = m.Matrix, m.Classes, m.PerClass
	return checkMatrix(v.matrix)
}

// checkMatrix returns an error unless a confusion matrix has rows, each as long as there are rows.
func checkMatrix(m [][]float64) error {
	if len(m) == 0 {
		return errors.New("a confusion matrix has no rows")
	}
	for i, row := range m {
		if len(row) != len(m) {
			return fmt.Errorf("row %d of a confusion matrix of %d rows has %d columns", i, len(m), len(row))
		}
	}
	return nil
}

// NameApart uses the whole paths as the names of runs whose folders have the same name.
func NameApart(runs []*Run) {
	count := map[string]int{}
	for _, r := range runs {
		count[r.Name]++
	}
	for _, r := range runs {
		if count[r.Name] > 1 {
			r.Name = r.Dir
		}
	}
}

// seriesNames returns the names in the series of any run, sorted.
func seriesNames[V any](runs []*Run, of func(*Run) map[string]V) []string {
	var all []string
	for _, r := range runs {
		for name := range of(r) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// fileError returns an error about a file of a run.
func fileError(file, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrIO, format, args...)
	e.File = file
	return e
}
