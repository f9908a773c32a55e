package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace/estimator/checkpoint"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
)

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// The README's claims hold: all ways give exactly the same loss. Only the constant
// makes the graph large. The checkpoints hold the model's variables and not the data.
func TestRun(t *testing.T) {
	testruntime.Need(t)
	var out strings.Builder
	dir := filepath.Join(t.TempDir(), "run")
	results, err := run(t.Context(), ".", dir, &out)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "step 400  loss"); n != 4 {
		t.Errorf("it printed\n%s", out.String())
	}
	want := results["fed"]
	if !(want.loss < 0.5) {
		t.Errorf("loss %v, want less than 0.5", want.loss)
	}
	tensors := checkpointed(t, filepath.Join(dir, "fed"))
	if !slices.ContainsFunc(tensors, func(name string) bool { return strings.HasPrefix(name, "dense/kernel") }) {
		t.Fatalf("the checkpoint holds %q", tensors)
	}
	for name, r := range results {
		if r.loss != want.loss || r.step != 400 {
			t.Errorf("%s: step %d, loss %v, want 400 and %v", name, r.step, r.loss, want.loss)
		}
		if got := checkpointed(t, filepath.Join(dir, name)); !slices.Equal(got, tensors) {
			t.Errorf("%s: the checkpoint holds %q, want %q", name, got, tensors)
		}
		const data = 1437 * (8*8*4 + 8)
		if large := r.graphBytes > data; large != (name == "constant") {
			t.Errorf("%s: a graph of %d bytes; the data has %d", name, r.graphBytes, data)
		}
	}
}

// checkpointed returns the names of the tensors of a folder's newest checkpoint.
func checkpointed(t *testing.T, dir string) []string {
	t.Helper()
	c, _, err := checkpoint.Newest(dir)
	if err != nil || c == nil {
		t.Fatal(dir, c, err)
	}
	var names []string
	for _, v := range c.Variables {
		names = append(names, v.Name)
	}
	return names
}
