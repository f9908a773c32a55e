package docs

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"millrace/diag"
	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/loaders"
	"millrace/tfbridge"
)

var update = flag.Bool("update", false, "write what the examples of config.md give into the page")

func TestMain(m *testing.M) {
	os.Exit(tfmain.RunMixed(m))
}

// block matches an example of config.md: the heading above it is its name.
var block = regexp.MustCompile("(?s)```txtar\n(.*?)```\n")

// TestConfig checks each example of config.md and, with a runtime, reads it:
// the page says which batches come, or which error.
func TestConfig(t *testing.T) {
	page, err := os.ReadFile("config.md")
	if err != nil {
		t.Fatal(err)
	}
	places := block.FindAllSubmatchIndex(page, -1)
	if len(places) == 0 {
		t.Fatal("config.md has no example")
	}
	for _, at := range slices.Backward(places) {
		line := 1 + bytes.Count(page[:at[0]], []byte("\n"))
		t.Run(fmt.Sprintf("line%d", line), func(t *testing.T) {
			a := txtar.Parse(page[at[2]:at[3]])
			want := &a.Files[len(a.Files)-1]
			if want.Name != "batches" && want.Name != "error" {
				t.Fatalf("an example ends with the section batches or error, this one with %s", want.Name)
			}
			name, got := run(t, unpack(t, a))
			if *update {
				want.Name, want.Data = name, []byte(got)
				page = slices.Replace(page, at[2], at[3], txtar.Format(a)...)
				return
			}
			if diff := cmp.Diff(want.Name+"\n"+string(want.Data), name+"\n"+got); diff != "" {
				t.Errorf("config.md:%d (-want +got):\n%s", line, diff)
			}
		})
	}
	if *update {
		if err := os.WriteFile("config.md", page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// object is a JSON object.
type object = map[string]any

// unpack writes the dataset and the config of an example, and returns the
// config's path.
func unpack(t *testing.T, a *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	manifest := object{"compression": nil, "allow_var_len": false}
	args := object{
		"dataset":           object{"type": "dir", "args": object{"data_dir": "data"}},
		"target_batch_size": 2, "drop_remainder": false, "epochs": 1, "seed": 1,
		"num_read_buffer_bytes": 262144, "num_prefetch": 2,
	}
	config := object{"type": "independent", "args": args}
	var features []object
	for _, f := range a.Files {
		switch {
		case f.Name == "features":
			features = lines(t, f)
		case f.Name == "args":
			merge(t, args, f)
		case f.Name == "loader":
			merge(t, config, f)
			if config["type"] == "chunked_sequence" { // whose batches have no number of examples
				delete(args, "target_batch_size")
				delete(args, "drop_remainder")
			}
		}
	}
	var primary []object
	for _, f := range features {
		primary = append(primary, object{"from_name": f["name"], "to_name": f["name"]})
		if _, ok := f["var_len"]; ok {
			manifest["allow_var_len"] = true
		}
	}
	manifest["features"] = features
	if args["primary_features"] == nil {
		args["primary_features"] = primary
	}
	for _, f := range a.Files {
		switch {
		case slices.Contains([]string{"features", "args", "loader", "batches", "error"}, f.Name):
		case strings.HasSuffix(f.Name, ".txt"):
			writeList(t, filepath.Join(dir, f.Name), f.Data)
		default:
			writeRecords(t, filepath.Join(dir, "data", f.Name), features, lines(t, f))
		}
	}
	writeJSON(t, filepath.Join(dir, "data/__manifest__.json"), manifest)
	writeJSON(t, filepath.Join(dir, "loader.json"), config)
	return filepath.Join(dir, "loader.json")
}

// writeList writes a list of data files.
func writeList(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// lines reads a section with a JSON object a line.
func lines(t *testing.T, f txtar.File) (out []object) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(f.Data))
	d.UseNumber()
	for d.More() {
		var o object
		if err := d.Decode(&o); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		out = append(out, o)
	}
	return out
}

// merge reads a section with members of an object into it.
func merge(t *testing.T, into object, f txtar.File) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader("{" + string(f.Data) + "}"))
	d.UseNumber()
	if err := d.Decode(&into); err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// run reads a config's batches and returns the name and the text of the
// section that an example of it ends with.
func run(t *testing.T, path string) (name, text string) {
	t.Helper()
	plan, problems := loaders.Check(path, nil)
	if plan == nil {
		return "error", problemText(problems)
	}
	testruntime.Need(t)
	l, err := loaders.OpenPlan(plan, nil)
	if err == nil {
		defer l.Close()
		text, err = readBatches(t, l)
	}
	if err != nil {
		return "error", text + strings.ReplaceAll(err.Error(), filepath.Dir(path)+"/", "") + "\n"
	}
	return "batches", text
}

// problemText returns the errors of a check without file, line and column.
func problemText(problems diag.List) string {
	var b strings.Builder
	for _, d := range problems.Errors() {
		fmt.Fprintln(&b, strings.TrimPrefix(d.Error(), d.Place()+": "))
	}
	return b.String()
}

// readBatches returns each batch on a line.
func readBatches(t *testing.T, l *loaders.Loader) (string, error) {
	t.Helper()
	var b strings.Builder
	for batch, err := range l.Batches(t.Context()) {
		if err != nil {
			return b.String(), err
		}
		for i, name := range batch.Names() {
			before := ", "
			if i == 0 {
				before = ""
			}
			fmt.Fprintf(&b, "%s%s: %s", before, name, tensorText(t, batch.Tensor(name)))
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// tensorText returns a tensor as nested lists of JSON.
func tensorText(t *testing.T, x *tfbridge.Tensor) string {
	t.Helper()
	return valueText(t, reflect.ValueOf(x.Value()))
}

func valueText(t *testing.T, v reflect.Value) string {
	if v.Kind() != reflect.Slice {
		b, err := json.Marshal(v.Interface())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	parts := make([]string, v.Len())
	for i := range parts {
		parts[i] = valueText(t, v.Index(i))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
