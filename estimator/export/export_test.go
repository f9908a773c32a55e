package export_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace"
	"millrace/estimator"
	"millrace/estimator/checkpoint"
	"millrace/estimator/export"
	"millrace/internal/test/fixture"
	"millrace/internal/test/leak"
	"millrace/internal/test/remotetest"
	"millrace/internal/test/tfmain"
	"millrace/loaders"
	"millrace/remote"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }

const classifier = "../../testdata/models/classifier"

// trainedCheckpoint trains a model for some steps and returns the last checkpoint.
func trainedCheckpoint(t *testing.T, model string, steps int64) *checkpoint.Checkpoint {
	t.Helper()
	m, err := estimator.LoadModel(model, &estimator.ModelOptions{Signatures: []string{"train"}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	plan, problems := loaders.Check(fixture.Points(t, 4, fixture.Shuffled()).Config(), nil)
	if plan == nil {
		t.Fatal(problems)
	}
	dir := t.TempDir()
	if _, err := estimator.Train(t.Context(), m, &loaders.Source{Plan: plan}, dir, &estimator.TrainOptions{Steps: steps}); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Load(dir, steps)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// lossOf evaluates the model in a folder.
func lossOf(t *testing.T, dir string) float64 {
	t.Helper()
	m, err := estimator.LoadModel(dir, &estimator.ModelOptions{Signatures: []string{"evaluate", "train", "serving_default"}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	plan, problems := loaders.Check(fixture.Points(t, 2, nil).Config(), nil)
	if plan == nil {
		t.Fatal(problems)
	}
	e, err := estimator.Evaluate(t.Context(), m, &loaders.Source{Plan: plan}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e.Values["loss"].Number
}

// An export has the original's signatures and the trained values, replaces an
// older export, and passes the checks of every model.
func TestExport(t *testing.T) {
	noneLeft := leak.Objects(t, tfbridge.Live)
	c := trainedCheckpoint(t, classifier, 30)
	out := filepath.Join(t.TempDir(), "export")
	for range 2 {
		if err := export.Write(classifier, c, out); err != nil {
			t.Fatal(err)
		}
	}
	before, after := lossOf(t, classifier), lossOf(t, out)
	if after > before/2 {
		t.Errorf("loss %g before, %g after training", before, after)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); len(left) != 1 {
		t.Errorf("beside the export: %q", left)
	}
	noneLeft()
}

// A folder that is not an export is not replaced, and a checkpoint of another model is
// refused before anything is written.
func TestExportRefuses(t *testing.T) {
	c := trainedCheckpoint(t, classifier, 1)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "diary"), []byte("dear"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := export.Write(classifier, c, dir); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("over a folder that is no model: %v", err)
	}
	if err := export.Write(classifier, c, classifier); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("over the model itself: %v", err)
	}
	var e *millrace.Error
	below := filepath.Join(dir, "diary", "export") // below a file
	if err := export.Write(classifier, c, below); !errors.As(err, &e) || e.Class != millrace.ErrIO || e.Op != "export" || !strings.HasPrefix(e.File, below) || strings.Contains(e.Msg, below) {
		t.Errorf("below a file: %v", err)
	}
	out := filepath.Join(dir, "export")
	if err := export.Write("../../testdata/models/linear", c, out); !errors.Is(err, millrace.ErrConfig) {
		t.Errorf("of another model: %v", err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused export left a folder")
	}
}

// An export to a store has the graph last and can be loaded from there. One that fails leaves no
// object, and one to a place that is used is refused.
func TestExportToStore(t *testing.T) {
	c := trainedCheckpoint(t, classifier, 30)
	server := remotetest.NewServer()
	server.Register(t)
	const out = "s3://models/points/2"
	refused := func(_ int, r *http.Request) (f remotetest.Fault) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "saved_model.pb") {
			f = remotetest.Fault{Status: 403, Code: "AccessDenied"}
		}
		return f
	}
	server.Fault = refused
	err := export.Write(classifier, c, out)
	if !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), out+"/saved_model.pb: ") {
		t.Errorf("a store that refuses the graph: %v", err)
	}
	server.Fault = nil
	for o, err := range remote.Default.List(t.Context(), out) {
		t.Errorf("an export that failed has left %v, %v", o.URL, err)
	}
	if err := export.Write(classifier, c, out); err != nil {
		t.Fatal(err)
	}
	puts := slices.DeleteFunc(server.Requests(), func(r string) bool { return !strings.HasPrefix(r, "PUT ") })
	if last := puts[len(puts)-1]; last != "PUT /models/points/2/saved_model.pb" {
		t.Errorf("the last object is %s", last)
	}
	if loss := lossOf(t, out); loss > 0.55 { // it is 1.1 before training
		t.Errorf("loss %g after training", loss)
	}
	if err := export.Write(classifier, c, out); !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), "there are objects below this URL") {
		t.Errorf("a second export: %v", err)
	}
}
