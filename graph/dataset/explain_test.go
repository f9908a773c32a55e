package dataset_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/explain"
	"millrace/internal/test/leak"
	"millrace/tfbridge"
)

// written returns the names of stages, with those of functions in brackets.
func written(s *explain.Stage) string {
	var parts []string
	for _, in := range s.Inputs {
		parts = append(parts, written(in))
	}
	for _, f := range s.Functions {
		parts = append(parts, "["+written(f)+"]")
	}
	return strings.Join(append(parts, s.Name()), " ")
}

// Explain shows the rewrites: a map before a batch is fused with it. Each stage has its
// number of elements, and its cost.
func TestExplain(t *testing.T) {
	noneLeft := leak.Objects(t, tfbridge.Live)
	s := graph.NewScope()
	d := dataset.Range(s, 0, 1000, 1).Map("double", double, nil).Batch(10, false)
	e, err := d.Explain(t.Context(), &dataset.ExplainOptions{Elements: 50})
	if err != nil {
		t.Fatal(err)
	}
	if got := written(e.Built); got != "Range Map Batch" {
		t.Errorf("built: %s", got)
	}
	if got := written(e.Run); got != "Range MapAndBatch" {
		t.Errorf("run: %s", got)
	}
	for i, want := range []struct{ cardinality, elements int64 }{{1000, 500}, {100, 50}} {
		stage := e.Run.All()[i]
		if m := stage.Measured; stage.Cardinality != want.cardinality || m == nil || m.Elements < want.elements || m.Elements > want.cardinality || m.Time <= 0 {
			t.Errorf("%s: %d elements, did %+v; want %+v", stage.Name(), stage.Cardinality, m, want)
		}
	}
	if e.Elements != 50 || e.Time <= 0 || e.Built.Measured != nil {
		t.Errorf("%d elements in %v", e.Elements, e.Time)
	}
	for _, want := range []string{"as built ", "as TensorFlow runs it ", "batch_size=10", "50 elements in ", "(autotuned)"} {
		if !strings.Contains(e.Text(), want) {
			t.Errorf("no %q in\n%s", want, e.Text())
		}
	}
	plain, err := d.WithOptions(&dataset.Options{NoOptimization: true, NoAutotune: true}).Explain(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := plain.Text(); strings.Count(got, "Range") != 1 || strings.Contains(got, "MapAndBatch") {
		t.Errorf("without rewrites:\n%s", got)
	}
	if err := s.Graph().Close(); err != nil {
		t.Error(err)
	}
	noneLeft()
}

// Elements that functions return, and elements of every epoch, are counted for the
// right stage.
func TestExplainBranches(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	inner := func(s *graph.Scope, a outs) *dataset.Dataset { return dataset.FromSlices(s, a[0]).Batch(2, false) }
	d := dataset.Range(s, 0, 40, 1).Batch(10, false).FlatMap("inner", inner).Repeat(3)
	e, err := dataset.Zip(s, d, dataset.Counter(s, 0, 1)).WithOptions(&dataset.Options{NoOptimization: true}).
		Explain(t.Context(), &dataset.ExplainOptions{Elements: dataset.AllElements})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := written(e.Run), "Range Batch [TensorSlice Batch] FlatMap Repeat Range Zip"; got != want {
		t.Fatalf("stages %s, want %s", got, want)
	}
	zip := e.Run
	repeat := zip.Inputs[0]
	flat := repeat.Inputs[0]
	if e.Elements != 60 || repeat.Measured.Elements != 60 {
		t.Errorf("%d elements, Repeat gave %+v", e.Elements, repeat.Measured)
	}
	if m := flat.Measured; m.Datasets != 3 || m.Elements != 60 {
		t.Errorf("FlatMap of three epochs: %+v", m)
	}
	if m := flat.Functions[0].Measured; m == nil || m.Datasets != 12 || m.Elements != 60 {
		t.Errorf("what the function returns: %+v", m)
	}
	if m := zip.Inputs[1].Measured; m == nil || m.Elements != 60 {
		t.Errorf("the counter: %+v", m)
	}
}

// The report names the stage that does the work, and advises what would help.
func TestExplainBottleneck(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	work := func(s *graph.Scope, a outs) outs {
		x := s.Op1("Fill", nil, s.Const([]int64{300, 300}), graph.Cast(s, a[0], tfbridge.Float))
		for range 3 {
			x = s.Op1("MatMul", nil, x, x)
		}
		return outs{graph.Sum(s, x, s.Const([]int64{0, 1}))}
	}
	d := dataset.Range(s, 0, 100, 1).Map("double", double, nil).Map("work", work, nil).Batch(2, false)
	e, err := d.WithOptions(&dataset.Options{NoOptimization: true}).Explain(t.Context(), &dataset.ExplainOptions{Elements: 20})
	if err != nil {
		t.Fatal(err)
	}
	stage, help := e.Bottleneck()
	if stage != e.Run.Inputs[0] || !strings.Contains(help, "MapParallel") {
		t.Errorf("the bottleneck is %+v: %s", stage, help)
	}
	if want := "\nMap holds the pipeline up: it was busy for "; !strings.Contains(e.Text(), want) {
		t.Errorf("no %q in\n%s", want, e.Text())
	}
}

// The picture is XML whatever text it contains.
func TestExplainPicture(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	t.Chdir(t.TempDir())
	const name = `a<b>&c.txt`
	if err := os.WriteFile(name, []byte("one\ntwo\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	e, err := dataset.TextLines(s, s.Const(name), nil).Batch(1, false).Explain(t.Context(), &dataset.ExplainOptions{Elements: 1})
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for d := xml.NewDecoder(strings.NewReader(string(e.SVG()))); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := token.(xml.CharData); ok {
			texts = append(texts, string(text))
		}
	}
	for _, want := range []string{"as built", "TextLine", "Batch", `a<b>&`, "1 element in "} {
		if !strings.Contains(strings.Join(texts, "\n"), want) {
			t.Errorf("no %q in the picture", want)
		}
	}
}

func TestExplainRefuses(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	endless := dataset.Counter(s, 0, 1).Repeat(-1)
	missing := dataset.TextLines(s, s.Const("nowhere"), nil)
	off := dataset.Range(s, 0, 9, 1).WithOptions(&dataset.Options{NoAutotune: true})
	fed := s.Placeholder(tfbridge.Int64, tfbridge.ScalarShape())
	for _, tt := range []struct {
		name string
		d    *dataset.Dataset
		n    int64
		want string
	}{
		{"endless", endless, dataset.AllElements, "has no end"},
		{"a file that is missing", missing, 1, "nowhere"},
		{"no autotuning", off, 1, "Options.NoAutotune"},
		{"not fed", dataset.Range(s, 0, 9, 1).TakeOutput(fed), 0, "placeholder"},
	} {
		e, err := tt.d.Explain(t.Context(), &dataset.ExplainOptions{Elements: tt.n})
		if e != nil || err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	var none *dataset.Dataset
	if _, err := none.Explain(t.Context(), nil); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("no dataset: %v", err)
	}
}
