package estimator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/dtype"
	"millrace/estimator/checkpoint"
	"millrace/internal/test/leak"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// linearCopy loads a copy of the linear model, whose files a test may remove.
func linearCopy(t *testing.T) (m *Model, prefix string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "linear")
	if err := os.CopyFS(dir, os.DirFS("../testdata/models/linear")); err != nil {
		t.Fatal(err)
	}
	m, err := LoadModel(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, filepath.Join(dir, "variables", "variables")
}

// removeData removes the values of a checkpoint and leaves its index.
func removeData(t *testing.T, prefix string) {
	t.Helper()
	if err := os.Remove(prefix + ".data-00000-of-00001"); err != nil {
		t.Fatal(err)
	}
}

// If a checkpoint's values are removed after it was read, the error of a restore names
// the checkpoint.
func TestRestoreOfValuesThatAreGone(t *testing.T) {
	leak.Check(t, tfbridge.Live)
	m, prefix := linearCopy(t)
	c, err := checkpoint.LoadPrefix(prefix)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.RestoreChecked(c); err != nil {
		t.Fatal(err)
	}
	wrong := func(what, want string, err error) {
		t.Helper()
		var e *millrace.Error
		if !errors.As(err, &e) || e.Class != millrace.ErrCheckpoint || e.File != prefix || !strings.Contains(e.Msg, want) {
			t.Errorf("%s: got %v, want %q of %s", what, err, want, prefix)
		}
	}
	removeData(t, prefix)
	wrong("values", "read the variables", m.RestoreChecked(c))
}

// A call that waits for the graph stops when its context ends, and changes nothing.
func TestWaitingForTheGraph(t *testing.T) {
	leak.Check(t, tfbridge.Live)
	m, _ := linearCopy(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.building <- struct{}{} // a join is in progress
	source := sourceFunc(nil)
	for what, wait := range map[string]func() error{
		"Join":       func() error { _, err := m.Join(ctx, source, nil); return err },
		"GraphDef":   func() error { _, err := m.GraphDef(ctx); return err },
		"values":     func() error { _, err := m.values(ctx); return err },
		"valuesWith": func() error { _, err := m.valuesWith(ctx, make([]checkpoint.Variable, 1)); return err },
		"subject": func() error {
			_, err := (&Pipeline{model: m}).subject(ctx, nil)
			return err
		},
	} {
		if err := wait(); !errors.Is(err, millrace.ErrCanceled) || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(m.building) != 1 || m.joined != 0 || m.access != nil {
		t.Errorf("the lock is held %d times, %d pipelines, values %v", len(m.building), m.joined, m.access)
	}
	m.unlockGraph()
	for range 2 { // nothing holds the lock afterwards
		if _, err := m.values(t.Context()); err != nil {
			t.Error(err)
		}
		if def, err := m.GraphDef(t.Context()); err != nil || len(def) == 0 {
			t.Errorf("a graph of %d bytes, %v", len(def), err)
		}
	}
}

// Only an output with one real number can be the loss. An unknown shape may turn out to
// be a scalar's.
func TestWhatCanBeALoss(t *testing.T) {
	scalar := dtype.ScalarShape()
	for _, tt := range []struct {
		dt    dtype.DataType
		shape dtype.Shape
		want  string
	}{
		{dtype.Float, scalar, ""}, {dtype.Double, scalar, ""}, {dtype.Half, scalar, ""}, {dtype.Bfloat16, scalar, ""},
		{dtype.Float, dtype.Shape{}, ""},
		{dtype.Int32, scalar, `the loss "cost" has dtype int32, not that of a real number`},
		{dtype.String, scalar, `the loss "cost" has dtype string, not that of a real number`},
		{dtype.Float, dtype.MakeShape(-1), `the loss "cost" has shape [?]; it must be a scalar`},
		{dtype.Float, dtype.MakeShape(1), `the loss "cost" has shape [1]; it must be a scalar`},
	} {
		var other, cost savedmodel.Tensor
		other.Name, cost.Name, cost.DType, cost.Shape = "other", "cost", tt.dt, tt.shape
		s := &savedmodel.Signature{Name: "fit", Outputs: []savedmodel.Tensor{other, cost}}
		p := &Pipeline{model: &Model{CheckedModel: &CheckedModel{dir: "m"}}, signature: s, changes: true}
		err := p.checkTrains("cost")
		if tt.want == "" {
			if err != nil {
				t.Errorf("%v %v: %v", tt.dt, tt.shape, err)
			}
			continue
		}
		var e *millrace.Error
		if !errors.As(err, &e) || e.Class != millrace.ErrModel || e.File != "m" || e.Signature != "fit" || e.Msg != tt.want {
			t.Errorf("%v %v: got %v, want %s", tt.dt, tt.shape, err, tt.want)
		}
	}
}
