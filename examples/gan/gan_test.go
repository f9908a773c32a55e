package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/estimator"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// weights trains in dir up to a step and returns the variables.
func weights(t *testing.T, dir string, out *strings.Builder, steps ...int64) map[string][]byte {
	t.Helper()
	for _, step := range steps {
		r, err := run(t.Context(), dir, step, out)
		if err != nil || r.Step != step {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	m, err := estimator.LoadModel(filepath.Join(dir, "model"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Restore(filepath.Join(dir, "checkpoints")); err != nil {
		t.Fatal(err)
	}
	read, err := m.Variables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	values := map[string][]byte{}
	for name, v := range read {
		b, err := v.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		values[name] = bytes.Clone(b)
		v.Close()
	}
	return values
}

// Both networks learn, their losses are logged, and an interrupted and resumed run
// gives the same bits as an uninterrupted one.
func TestRun(t *testing.T) {
	testruntime.Need(t)
	var out strings.Builder
	whole := weights(t, t.TempDir(), &out, 400)
	if n := strings.Count(out.String(), ", discriminator 0."); n != 2 || !strings.Contains(out.String(), "step 400: generator ") {
		t.Errorf("it printed\n%s", out.String())
	}
	parts := weights(t, t.TempDir(), &out, 150, 400)
	for name, want := range whole {
		if !bytes.Equal(parts[name], want) {
			t.Errorf("%s differs after an interruption", name)
		}
	}
	for _, name := range []string{"generator/hidden/kernel", "discriminator/logit/bias", "discriminator_loss/iteration", "adam/generator_points_kernel_velocity", "adam/discriminator_hidden_kernel_momentum"} {
		if whole[name] == nil {
			t.Errorf("the checkpoint lacks %s", name)
		}
	}
}

// The generator's points come to lie where the real ones are.
func TestPoints(t *testing.T) {
	testruntime.Need(t)
	dir := t.TempDir()
	var out strings.Builder
	weights(t, dir, &out, 600)
	m, err := estimator.LoadModel(filepath.Join(dir, "model"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Restore(filepath.Join(dir, "checkpoints")); err != nil {
		t.Fatal(err)
	}
	pipe, err := m.Join(t.Context(), estimator.FromDataset(pointsFrom(0), "noise", "real"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for batch, err := range pipe.Run(t.Context(), &estimator.RunOptions{Steps: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		made, err := tfbridge.View[float32](batch.Tensor("points"))
		if err != nil {
			t.Fatal(err)
		}
		var x, y float32
		for i := 0; i < len(made); i += 2 {
			x, y = x+made[i]/64, y+made[i+1]/64
		}
		if x < 2 || x > 4 || y < -2 || y > 0 {
			t.Errorf("the mean of the points is (%v, %v), the real one (3, -1)", x, y)
		}
	}
}
