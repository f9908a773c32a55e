package configfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/serving"
	"millrace/serving/batching"
)

// settingsFile writes a file of settings.
func settingsFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "settings.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadSettings(t *testing.T) {
	labels := map[string]int64{"stable": 1, "canary": 2}
	configs := []serving.ModelConfig{{Name: "a", VersionLabels: labels}, {Name: "b"}}
	path := settingsFile(t, `{"models": [{"name": "a", "batching": false, "shared_inputs": ["temperature"], "ragged_inputs": [{"values": "v", "row_splits": ["s"]}], "sparse_inputs": [{"indices": "i", "values": "w", "dense_shape": "d"}], "cache_bytes": 100,
		"canary": [{"label": "stable", "weight": 95}, {"label": "canary", "weight": 5}], "shadow": {"label": "canary", "share": 0.5},
		"sequences": [{"feedback": [{"output": "next", "input": "token"}], "end": {"output": "next", "value": 2}}, {"signature": "s", "end": {"output": "done"}, "max_steps": 7}]}]}`)
	if err := ReadSettings(path, configs); err != nil {
		t.Fatal(err)
	}
	want := []serving.ModelConfig{{Name: "a", VersionLabels: labels, Unbatched: true, SharedInputs: []string{"temperature"},
		Ragged: []batching.RaggedInput{{Values: "v", RowSplits: []string{"s"}}}, Sparse: []batching.SparseInput{{Indices: "i", Values: "w", DenseShape: "d"}}, CacheBytes: 100,
		Canary: map[string]int{"stable": 95, "canary": 5}, Shadow: &serving.ShadowConfig{Label: "canary", Share: 0.5},
		Sequences: []serving.SequenceConfig{{Signature: "serving_default", Feedback: map[string]string{"next": "token"}, EndOutput: "next", EndValue: 2, MaxSteps: 1024},
			{Signature: "s", Feedback: map[string]string{}, EndOutput: "done", EndValue: 1, MaxSteps: 7}}}, {Name: "b"}}
	if diff := cmp.Diff(want, configs); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Each problem has its place, and all are reported at once.
func TestSettingsProblems(t *testing.T) {
	path := settingsFile(t, `{"models": [
  {"name": "aa", "batchng": true},
  {"name": "a", "canary": [{"label": "stabel", "weight": 1}, {"label": "stable", "weight": -1}, {"label": "stable", "weight": 2}, {"label": "stable", "weight": 1}]},
  {"name": "a", "shadow": {"label": "stable", "share": 2}}
]}`)
	err := ReadSettings(path, []serving.ModelConfig{{Name: "a", VersionLabels: map[string]int64{"stable": 1}}})
	if !errors.Is(err, millrace.ErrConfig) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"settings.json:2:", `no model "aa"`, "batchng", "settings.json:3:", `no label "stabel"`, `label "stable" has two weights`, "stable", "weight", "settings.json:4:", "settings twice"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in\n%v", want, err)
		}
	}
	for _, text := range []string{"", "{", `{"models": 1}`} {
		if err := ReadSettings(settingsFile(t, text), nil); !errors.Is(err, millrace.ErrConfig) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := ReadSettings(path+"x", nil); !errors.Is(err, millrace.ErrIO) {
		t.Errorf("no file: %v", err)
	}
}
