package loaders_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/loaders"

	"github.com/google/go-cmp/cmp"
)

// stateFolder names the folder in which another process finds a state and writes the
// batches after it.
const stateFolder = "MILLRACE_TEST_STATE"

// TestStateInAnotherProcess resumes from a state in a separate process.
func TestStateInAnotherProcess(t *testing.T) {
	testruntime.Need(t)
	f := stateDatasets(t)["continuous shuffled"]
	l := openSequence(t, f)
	var want []string
	var state []byte
	for b, err := range l.Run(t.Context(), &loaders.RunOptions{SaveEvery: 3}) {
		if err != nil {
			t.Fatal(err)
		}
		if state != nil {
			want = append(want, textOf(t, b))
		} else {
			state = b.State()
		}
	}
	path := filepath.Join(f.Dir, "state")
	if err := os.WriteFile(path, state, 0o666); err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGoOnFromState$")
	child.Env = append(os.Environ(), stateFolder+"="+f.Dir)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(f.Dir, "rest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after the state (-this process +the other)\n%s", diff)
	}
}

// TestGoOnFromState is the other process of TestStateInAnotherProcess.
func TestGoOnFromState(t *testing.T) {
	dir := os.Getenv(stateFolder)
	if dir == "" {
		t.Skip("it runs for TestStateInAnotherProcess")
	}
	state, err := os.ReadFile(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := loaders.Open(filepath.Join(dir, "loader.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	rest := []string{}
	for b, err := range l.Run(t.Context(), &loaders.RunOptions{State: state}) {
		if err != nil {
			t.Fatal(err)
		}
		rest = append(rest, textOf(t, b))
	}
	text, err := json.Marshal(rest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rest.json"), text, 0o666); err != nil {
		t.Fatal(err)
	}
}
