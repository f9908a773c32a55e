package loaders_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/diag"
	"millrace/internal/test/fixture"
	"millrace/loaders"

	"github.com/google/go-cmp/cmp"
)

// wrongSteps is the folder of more than a hundred wrong processing steps, one a line, and what the
// check says of each.
const wrongSteps = "testdata/wrong_steps"

// wrongData returns a dataset without a file, whose config has some steps that are right, and then
// the given ones.
func wrongData(t *testing.T, steps []json.RawMessage) *fixture.Dataset {
	t.Helper()
	f := fixture.New(t)
	f.Manifest["features"] = []fixture.Object{
		{"name": "photo", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
		{"name": "text", "dtype": "string", "shape": []int{}, "deserialize_type": "string"},
		{"name": "vector", "dtype": "float32", "shape": []int{4}, "deserialize_type": "float"},
		{"name": "picture", "dtype": "uint8", "shape": []int{8, 8, 3}, "deserialize_type": "raw", "deserialize_args": fixture.Object{"endian": "little"}},
		{"name": "number", "dtype": "int64", "shape": []int{}, "deserialize_type": "int"},
	}
	var primaries []fixture.Object
	for _, feature := range f.Manifest["features"].([]fixture.Object) {
		primaries = append(primaries, fixture.Object{"from_name": feature["name"], "to_name": feature["name"]})
	}
	f.Args["primary_features"], f.Args["padding"] = primaries, true
	right := []json.RawMessage{
		[]byte(`{"type": "grayscale", "tensor": "picture", "to_name": "grey"}`), []byte(`{"type": "split", "tensor": "text", "to_name": "words"}`),
	}
	f.Args["processing_steps"] = append(right, steps...)
	f.WriteRecords(t, "a.tfrecords", []byte("no record: the check must not read it"))
	for name, text := range map[string]string{
		"words.txt": "a\nb\n", "empty.txt": "", "stats.json": `{"tensors": {"vector": {"mean": [1, 2, 3, 4], "std": [1, 1, 1, 1]}, "other": {"mean": [1, 2], "std": [1, 1]}}}`,
	} {
		if err := os.WriteFile(filepath.Join(f.Dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	models, err := filepath.Abs("../testdata/models")
	if err == nil {
		err = os.Symlink(models, filepath.Join(f.Dir, "models"))
	}
	if err != nil {
		t.Fatal(err)
	}
	f.Save(t)
	return f
}

// The check finds what is wrong with each step of a list by itself, with its place, before a byte
// of the data is read.
func TestWrongSteps(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(wrongSteps, "steps.json"))
	if err != nil {
		t.Fatal(err)
	}
	var report bytes.Buffer
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, step := range all {
		f := wrongData(t, []json.RawMessage{[]byte(step)})
		plan, problems := loaders.Check(f.Config(), nil)
		fmt.Fprintf(&report, "%s\n", step)
		if plan != nil {
			t.Errorf("nothing is wrong with %s", step)
		}
		for _, d := range problems {
			fmt.Fprintf(&report, "\t%s: %s\n", d.Key, problem(d))
			if !strings.HasPrefix(d.Key, "args.processing_steps[2]") || d.Line == 0 || d.Class == nil {
				t.Errorf("%s: a problem without its place: %v", step, d)
			}
		}
	}
	if len(all) < 100 {
		t.Errorf("%d wrong steps, want at least 100", len(all))
	}
	golden := filepath.Join(wrongSteps, "problems.txt")
	if *update {
		if err := os.WriteFile(golden, report.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), report.String()); diff != "" {
		t.Errorf("-update rewrites %s (-want +got)\n%s", golden, diff)
	}
}

// problem returns the words of a problem.
func problem(d *diag.Diagnostic) string {
	if d.Hint == "" {
		return d.Msg
	}
	return d.Msg + "; " + d.Hint
}

// One check finds all of them together, in the order of the file.
func TestWrongStepsTogether(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(wrongSteps, "steps.json"))
	if err != nil {
		t.Fatal(err)
	}
	var steps []json.RawMessage
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		line = strings.Replace(line, `"to_name": "o"`, fmt.Sprintf(`"to_name": "o%d"`, i), 1)
		steps = append(steps, []byte(line))
	}
	_, problems := loaders.Check(wrongData(t, steps).Config(), nil)
	found, last := map[string]bool{}, 0
	for _, d := range problems {
		step, _, _ := strings.Cut(strings.TrimPrefix(d.Key, "args.processing_steps["), "]")
		found[step] = true
		if d.Line < last {
			t.Errorf("line %d comes after line %d", d.Line, last)
		}
		last = d.Line
	}
	for i := range steps {
		if !found[fmt.Sprint(i+2)] {
			t.Errorf("nothing is said of %s", steps[i])
		}
	}
}
