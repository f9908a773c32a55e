package loaders_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/test/cases"
	"millrace/loaders"
	"millrace/loaders/spec"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// compileSchema compiles the schema of a kind of file.
func compileSchema(t *testing.T, kind spec.SchemaKind) *jsonschema.Schema {
	t.Helper()
	text, err := spec.Schema(kind)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// validate returns the schema's errors about a text, none for a text that is not JSON.
func validate(schema *jsonschema.Schema, text []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// TestSchemaFiles compares the committed schemas with the declarations.
func TestSchemaFiles(t *testing.T) {
	for _, kind := range []spec.SchemaKind{spec.LoaderSchema, spec.ManifestSchema, spec.ModelSchema} {
		got, err := spec.Schema(kind)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("..", "docs", "schema", string(kind)+".schema.json")
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is out of date; run go test ./loaders -run TestSchemaFiles -update (-want +got):\n%s", path, diff)
		}
	}
	if _, err := spec.Schema("list"); err == nil {
		t.Error("a schema of an unknown kind")
	}
}

// TestSchemaCases: the schemas accept whatever Check accepts.
func TestSchemaCases(t *testing.T) {
	loader, manifest := compileSchema(t, spec.LoaderSchema), compileSchema(t, spec.ManifestSchema)
	model := compileSchema(t, spec.ModelSchema)
	for _, name := range cases.All(t) {
		if cases.Read(t, name).Mode == "error" {
			continue
		}
		for file, schema := range map[string]*jsonschema.Schema{
			"loader.json": loader, "data/__manifest__.json": manifest, "model.json": model,
		} {
			text, ok := cases.Text(t, name, file)
			if !ok {
				continue
			}
			if err := validate(schema, text); err != nil {
				t.Errorf("%s/%s: %v", name, file, err)
			}
		}
	}
}

// TestSchemaRefuses checks that the schemas refuse these files.
func TestSchemaRefuses(t *testing.T) {
	loader, manifest := compileSchema(t, spec.LoaderSchema), compileSchema(t, spec.ManifestSchema)
	for _, name := range []string{
		"err-unknown-key", "err-unknown-top-key", "err-unknown-key-dataset", "err-unknown-key-dataset-args", "err-unknown-key-primary",
		"err-unknown-loader-type", "err-missing-epochs", "err-missing-args", "err-missing-type", "err-missing-dataset",
		"err-type-target_batch_size-string", "err-type-target_batch_size-boolean", "err-type-padding-string", "err-type-epochs-fraction",
		"err-zero-epochs", "err-negative-num_prefetch", "err-limit-num_mix_files", "err-limit-num_read_buffer_bytes",
		"err-shuffle-missing-num_mix_files", "err-zero-num_shuffle_buffer_elements", "err-stride-discrete", "err-stride-zero",
		"err-min-window-independent", "err-multi-load-elsewhere", "err-tail-unknown", "err-cont-missing-min_window",
		"err-const-no-args", "err-const-unknown-type", "err-const-shape-negative", "err-const-value-null", "err-step-no-slice",
		"err-step-unknown-type", "err-pad-minus-two", "err-pad-unknown-key", "err-primary-empty", "err-dataset-type", "err-list-data-dir",
	} {
		refuses(t, loader, name, "loader.json")
	}
	for _, name := range []string{
		"err-manifest-compression-case", "err-manifest-unknown-key", "err-manifest-no-compression", "err-manifest-features-strings",
		"err-raw-endian-missing", "err-raw-no-args", "err-raw-len-zero", "err-raw-unknown-arg", "err-feature-shape-minus-one",
		"err-feature-deserialize_args-unwanted", "err-feature-deserialize_type-unknown", "err-feature-no-dtype", "err-feature-unknown-key",
		"err-feature-dtype-unknown", "err-feature-string-to-int", "err-feature-raw-to-string", "err-feature-var_len-true", "err-var-len-missing",
	} {
		refuses(t, manifest, name, "data/__manifest__.json")
	}
}

// refuses reports a case's file that the schema accepts.
func refuses(t *testing.T, schema *jsonschema.Schema, name, file string) {
	t.Helper()
	text, ok := cases.Text(t, name, file)
	if !ok {
		t.Errorf("no %s/%s", name, file)
		return
	}
	if validate(schema, text) == nil {
		t.Errorf("the schema accepts %s/%s", name, file)
	}
}

// fullLoader holds every key of a config for a continuous_sequence loader.
const fullLoader = `{"type": "continuous_sequence", "args": {
	"dataset": {"type": "dir", "args": {"data_dir": "data"}},
	"target_batch_size": 2, "drop_remainder": false, "epochs": 1,
	"num_parallel_reads": 1, "num_parallel_parses": 1, "num_read_buffer_bytes": 0, "num_prefetch": 0,
	"shuffle": true, "num_shuffle_buffer_elements": 1, "num_filenames_shuffle_buffer": 1, "num_mix_files": 1,
	"sloppy_interleave": false, "num_interleave_out_buffer_elements": 1, "num_interleave_in_buffer_elements": 1,
	"primary_features": [{"from_name": "x", "to_name": "x"}],
	"secondary_features": [{"to_name": "c", "type": "const", "args": {"shape": [2], "dtype": "int8", "value": 1}},
		{"to_name": "n", "type": "lengths", "args": {"tensor": "x", "axis": 0, "of": "example"}},
		{"to_name": "m", "type": "mask", "args": {"tensor": "x", "axis": 0}}],
	"processing_steps": [{"tensor": "x", "type": "slice", "args": {"slice": "[:]"}}],
	"padding": [{"tensor": "x", "shape": [-1], "value": 1}],
	"bucket_by_length": {"tensor": "x", "axis": 0, "boundaries": [1, 2]}, "batch_by_elements": 3,
	"seed": 1, "min_window": 1, "max_window": 2, "stride": 1, "tail": "keep"}}`

// fullManifest holds every key of a manifest.
const fullManifest = `{"compression": "gzip", "allow_var_len": true, "features": [
	{"name": "x", "dtype": "int32", "shape": [], "var_len": true, "deserialize_type": "raw",
	 "deserialize_args": {"endian": "big", "len": 1}, "checked_cast": false}]}`

// mutations returns a document with each of its values, one at a time, replaced by each
// of the given ones, or removed for ""; by path.
func mutations(t *testing.T, text string, with []string) map[string]map[string]string {
	t.Helper()
	all := make(map[string]map[string]string)
	var walk func(v any, path string, put func(any, bool) any)
	walk = func(v any, path string, put func(any, bool) any) {
		if path != "" {
			all[path] = make(map[string]string)
			for _, w := range with {
				var value any
				if w != "" {
					if err := json.Unmarshal([]byte(w), &value); err != nil {
						t.Fatal(err)
					}
				}
				out, err := json.Marshal(put(value, w != ""))
				if err != nil {
					t.Fatal(err)
				}
				all[path][w] = string(out)
			}
		}
		switch v := v.(type) {
		case map[string]any:
			for k, child := range v {
				walk(child, strings.TrimPrefix(path+"."+k, "."), func(x any, keep bool) any {
					copied := make(map[string]any, len(v))
					for k, v := range v {
						copied[k] = v
					}
					if copied[k] = x; !keep {
						delete(copied, k)
					}
					return put(copied, true)
				})
			}
		case []any:
			for i, child := range v {
				walk(child, path+"["+string(rune('0'+i))+"]", func(x any, keep bool) any {
					copied := append([]any(nil), v...)
					if copied[i] = x; !keep {
						copied = copied[:i]
					}
					return put(copied, true)
				})
			}
		}
	}
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	walk(doc, "", func(x any, _ bool) any { return x })
	return all
}

// dataset writes a loader config, a manifest and an empty data file.
func dataset(t *testing.T, loader, manifest string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"loader.json": loader, "data/__manifest__.json": manifest, "data/a.tfrecords": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "loader.json")
}

// TestWrongTypes puts values of each type of JSON, and nothing, in place of every value
// of a config and a manifest (B01, B02, S000-62). Whatever the schema refuses, Check
// refuses, and names the key.
func TestWrongTypes(t *testing.T) {
	with := []string{"", "null", "true", "false", "0", "-1", "2.5", "1e300", `"text"`, `""`, "[]", "{}", "[7]"}
	files := []struct {
		kind   spec.SchemaKind
		text   string
		config func(mutation string) string
	}{
		{spec.LoaderSchema, fullLoader, func(m string) string { return dataset(t, m, fullManifest) }},
		{spec.ManifestSchema, fullManifest, func(m string) string { return dataset(t, fullLoader, m) }},
	}
	for _, f := range files {
		schema := compileSchema(t, f.kind)
		if plan, problems := loaders.Check(f.config(f.text), nil); plan == nil {
			t.Fatal(problems)
		}
		for path, texts := range mutations(t, f.text, with) {
			for value, text := range texts {
				if validate(schema, []byte(text)) == nil {
					continue
				}
				_, problems := loaders.Check(f.config(text), nil)
				if !problems.HasErrors() {
					t.Errorf("%s of %q: Check accepts what the schema refuses", path, value)
				}
				if !strings.Contains(problems.Error(), lastKey(path)) {
					t.Errorf("%s of %q: not named in\n%v", path, value, problems)
				}
			}
		}
	}
}

// lastKey returns the last key of a path: "shape" of "a.shape[0]".
func lastKey(path string) string {
	path, _, _ = strings.Cut(path[strings.LastIndex(path, ".")+1:], "[")
	return path
}
