package loaders_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"millrace"
	"millrace/diag"
	"millrace/loaders"
	"millrace/loaders/spec"
)

// check checks a config over a manifest.
func check(t *testing.T, loader, manifest string) (*loaders.Plan, diag.List) {
	t.Helper()
	return loaders.Check(dataset(t, loader, manifest), nil)
}

// TestCutManifest truncates a manifest, and a config, at every byte (A03).
func TestCutManifest(t *testing.T) {
	config := dataset(t, fullLoader, fullManifest)
	manifest := filepath.Join(filepath.Dir(config), "data", "__manifest__.json")
	for _, f := range []struct{ path, text string }{{manifest, fullManifest}, {config, fullLoader}} {
		for i := range len(f.text) {
			if err := os.WriteFile(f.path, []byte(f.text[:i]), 0o644); err != nil {
				t.Fatal(err)
			}
			_, problems := loaders.Check(config, nil)
			if !errors.Is(problems, millrace.ErrConfig) || problems[0].File != f.path || problems[0].Line < 1 || problems[0].Column < 1 {
				t.Fatalf("cut at %d: %v", i, problems)
			}
		}
		if err := os.WriteFile(f.path, []byte(f.text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHugeManifests reads manifests that would take much time or memory (A05).
func TestHugeManifests(t *testing.T) {
	feature := func(i int) string {
		return fmt.Sprintf(`{"name":"f%d","dtype":"int8","shape":[1],"var_len":true,"deserialize_type":"int"},`, i)
	}
	var features strings.Builder
	for i := range 65_537 {
		features.WriteString(feature(i))
	}
	list := strings.TrimSuffix(features.String(), ",")
	tests := []struct{ name, manifest string }{
		{"100,000 deep", strings.Repeat(`{"features":[`, 50_000)},
		{"17 MiB of digits", strings.Repeat("7", 17<<20)},
		{"1,000,000 features", `{"features":[` + strings.Repeat("{},", 1_000_000) + "{}]}"},
		{"65,537 features", `{"compression":null,"allow_var_len":true,"features":[` + list + "]}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			config := dataset(t, fullLoader, tt.manifest)
			tt.manifest = ""
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, problems := loaders.Check(config, nil)
			runtime.ReadMemStats(&after)
			if !errors.Is(problems, millrace.ErrLimit) {
				t.Errorf("Check = %v", problems)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
				t.Errorf("Check allocates %d MiB", used>>20)
			}
		})
	}
}

// TestMostFeatures reads as many features as are allowed.
func TestMostFeatures(t *testing.T) {
	var b strings.Builder
	for i := range 65_535 {
		fmt.Fprintf(&b, `{"name":"f%d","dtype":"int8","shape":[1],"var_len":true,"deserialize_type":"int"},`, i)
	}
	manifest := strings.Replace(fullManifest, `"features": [`, `"features": [`+b.String(), 1)
	if plan, problems := check(t, fullLoader, manifest); plan == nil {
		t.Fatal(problems)
	}
}

// TestNotReadable: an error of the operating system has class i/o and keeps its cause
// (A01, C02, D05).
func TestNotReadable(t *testing.T) {
	config := dataset(t, fullLoader, fullManifest)
	data := filepath.Join(filepath.Dir(config), "data")
	tests := []struct {
		name  string
		spoil func() error
		cause error
		words string
	}{
		{"no manifest", func() error { return os.Remove(filepath.Join(data, "__manifest__.json")) }, fs.ErrNotExist, "__manifest__.json: no such file"},
		{"manifest is a pipe", func() error { return syscall.Mkfifo(filepath.Join(data, "__manifest__.json"), 0o644) }, nil, "not a regular file"},
		{"data is a pipe", func() error { return syscall.Mkfifo(filepath.Join(data, "p.tfrecords"), 0o644) }, nil, "p.tfrecords: is not a regular file"},
		{"data is a link to nothing", func() error { return os.Symlink("/nowhere", filepath.Join(data, "l.tfrecords")) }, fs.ErrNotExist, "l.tfrecords: no such file"},
		{"no folder", func() error { return os.RemoveAll(data) }, fs.ErrNotExist, "no such file"},
		{"no config", func() error { return os.Remove(config) }, fs.ErrNotExist, "read loader config: no such file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.spoil(); err != nil {
				t.Fatal(err)
			}
			plan, problems := loaders.Check(config, nil)
			if plan != nil || !errors.Is(problems, millrace.ErrIO) || !strings.Contains(problems.Error(), tt.words) {
				t.Fatalf("Check = %v", problems)
			}
			if tt.cause != nil && !errors.Is(problems, tt.cause) {
				t.Errorf("%v does not wrap %v", problems, tt.cause)
			}
			var e *millrace.Error
			if !errors.As(problems, &e) || e.Loader != config || e.File == "" {
				t.Errorf("no *millrace.Error in %v", problems)
			}
		})
	}
}

// TestErrorFields: a problem in a file carries its place in fields (V2).
func TestErrorFields(t *testing.T) {
	_, problems := check(t, fullLoader, strings.Replace(fullManifest, `"int32"`, `"int33"`, 1))
	var e *millrace.Error
	if !errors.As(problems, &e) {
		t.Fatal(problems)
	}
	if e.Class != millrace.ErrConfig || e.Line != 2 || e.Column != 25 || e.Key != "features[0].dtype" || !strings.HasSuffix(e.File, "__manifest__.json") {
		t.Errorf("fields: %+v", e)
	}
	if e.Error() != problems[0].Error() {
		t.Errorf("two texts of one problem\n%v\n%v", e, problems[0])
	}
}

// listConfig is a config with a list in the same folder.
const listConfig = `{"type": "independent", "args": {
	"dataset": {"type": "list", "args": {"manifest_file": "data/__manifest__.json", "list_file": "files.txt"}},
	"target_batch_size": 1, "drop_remainder": false, "epochs": 1, "num_read_buffer_bytes": 0, "num_prefetch": 0,
	"primary_features": [{"from_name": "x", "to_name": "x"}]}}`

// TestHugeLists reads lists that are too large, or hold a NUL (D04).
func TestHugeLists(t *testing.T) {
	tests := []struct {
		name, list string
		class      millrace.Class
		want       string
	}{
		{"a line of 1 MiB", "\n/" + strings.Repeat("x", 1<<20), millrace.ErrLimit, "files.txt:2: a line of more than 8192 bytes"},
		{"a NUL", "\n\n/a\x00b\n", millrace.ErrConfig, `files.txt:3: a NUL in the path "/a\x00b"`},
		{"too many lines", strings.Repeat("gs://b/a\n", 1_000_100), millrace.ErrLimit, "files.txt:1000002: more than 1000000 files"},
		{"many wrong lines", strings.Repeat("x\n", 100_000), millrace.ErrIO, "files.txt:1001: more problems follow and are not shown\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			config := dataset(t, listConfig, fullManifest)
			if err := os.WriteFile(filepath.Join(filepath.Dir(config), "files.txt"), []byte(tt.list), 0o644); err != nil {
				t.Fatal(err)
			}
			_, problems := loaders.Check(config, nil)
			if !errors.Is(problems, tt.class) || !strings.Contains(problems.Error(), tt.want) {
				t.Errorf("Check = %.300v\nwant %s", problems, tt.want)
			}
			if len(problems) > 3000 {
				t.Errorf("%d problems", len(problems))
			}
		})
	}
}

// TestManyWarnings: however many warnings there are, an error is found.
func TestManyWarnings(t *testing.T) {
	config := dataset(t, listConfig, fullManifest)
	list := strings.Repeat("gs://b/a\n", 5000) + "relative\n"
	if err := os.WriteFile(filepath.Join(filepath.Dir(config), "files.txt"), []byte(list), 0o644); err != nil {
		t.Fatal(err)
	}
	plan, problems := loaders.Check(config, nil)
	if plan != nil || !strings.Contains(problems.Error(), "files.txt:5001: ") {
		t.Errorf("Check = %.300v", problems)
	}
}

// TestLinks: links to folders are followed, but not in circles (A17).
func TestLinks(t *testing.T) {
	config := dataset(t, fullLoader, fullManifest)
	data := filepath.Join(filepath.Dir(config), "data")
	links := map[string]string{
		"data/loop": data, "data/up": "..", "data/same.tfrecords": "a.tfrecords", "data/broken": "/nowhere", "data/text.txt": "/nowhere",
		"other/b.tfrecords": "../data/a.tfrecords",
	}
	for name, target := range links {
		path := filepath.Join(filepath.Dir(config), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	plan, problems := loaders.Check(config, nil)
	if plan == nil {
		t.Fatal(problems)
	}
	var files []string
	for _, f := range plan.Files {
		rel, err := filepath.Rel(data, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, rel)
	}
	if got, want := strings.Join(files, " "), "a.tfrecords same.tfrecords up/other/b.tfrecords"; got != want {
		t.Errorf("files\n got %s\nwant %s", got, want)
	}
	text := problems.Error()
	if !strings.Contains(text, "loop leads back to a folder") || !strings.Contains(text, "a.tfrecords and same.tfrecords are the same file") {
		t.Errorf("warnings: %v", text)
	}
}

// TestRootLinks: with a root no link leads out of it (A17, B12).
func TestRootLinks(t *testing.T) {
	outside := dataset(t, fullLoader, fullManifest)
	for _, link := range []string{"data/x.tfrecords", "data/sub", "data/__manifest__.json"} {
		t.Run(link, func(t *testing.T) {
			config := dataset(t, fullLoader, fullManifest)
			root := filepath.Dir(config)
			target := map[string]string{
				"data/x.tfrecords": "a.tfrecords", "data/sub": "", "data/__manifest__.json": "__manifest__.json",
			}[link]
			path := filepath.Join(root, link)
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(filepath.Dir(outside), "data", target), path); err != nil {
				t.Fatal(err)
			}
			if plan, problems := loaders.Check(config, nil); plan == nil {
				t.Fatalf("without a root: %v", problems)
			}
			plan, problems := loaders.Check(config, &loaders.CheckOptions{Root: root})
			if plan != nil || !errors.Is(problems, millrace.ErrConfig) || !strings.Contains(problems.Error(), "leads out of") {
				t.Errorf("with a root: %v", problems)
			}
		})
	}
	if plan, problems := loaders.Check(outside, &loaders.CheckOptions{Root: filepath.Dir(outside)}); plan == nil {
		t.Errorf("everything inside the root: %v", problems)
	}
	_, problems := loaders.Check(outside, &loaders.CheckOptions{Root: filepath.Join(filepath.Dir(outside), "nowhere")})
	if !problems.HasErrors() {
		t.Error("a root that does not exist is no error")
	}
}

// TestDigests: the plan keeps the digests of the manifest and the list as they were
// read (A16, D07).
func TestDigests(t *testing.T) {
	config := dataset(t, listConfig, fullManifest)
	const list = "gs://b/a\n\n"
	if err := os.WriteFile(filepath.Join(filepath.Dir(config), "files.txt"), []byte(list), 0o644); err != nil {
		t.Fatal(err)
	}
	plan, problems := loaders.Check(config, nil)
	if plan == nil {
		t.Fatal(problems)
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(list))); plan.ListSHA256 != want {
		t.Errorf("the list's digest\n got %s\nwant %s", plan.ListSHA256, want)
	}
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte(fullManifest))); plan.Manifest.SHA256 != want {
		t.Errorf("the manifest's digest\n got %s\nwant %s", plan.Manifest.SHA256, want)
	}
}

// TestSecrets: names, passwords and keys in URLs are not printed (B13).
func TestSecrets(t *testing.T) {
	config := dataset(t, listConfig, fullManifest)
	list := filepath.Join(filepath.Dir(config), "files.txt")
	for _, text := range []string{"https://me:secret@host/a?key=secret\n", "gs://me:secret@b/a?key=secret\ngs://me:secret@b/a?key=secret\n"} {
		if err := os.WriteFile(list, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		plan, problems := loaders.Check(config, nil)
		printed := problems.Error()
		if plan != nil {
			printed += plan.Explain()
		}
		if strings.Contains(printed, "secret") || !strings.Contains(printed, "/a") {
			t.Errorf("printed:\n%s", printed)
		}
	}
}

// TestSeeds: the caller's seed wins over the config's, and a fresh one is
// drawn without either.
func TestSeeds(t *testing.T) {
	config := dataset(t, fullLoader, fullManifest)
	own := int64(-7)
	plan, _ := loaders.Check(config, &loaders.CheckOptions{Seed: &own})
	if plan.Seed != -7 || !plan.SeedGiven {
		t.Errorf("the caller's seed: %d, given %v", plan.Seed, plan.SeedGiven)
	}
	if plan, _ = loaders.Check(config, nil); plan.Seed != 1 || !plan.SeedGiven {
		t.Errorf("the config's seed: %d, given %v", plan.Seed, plan.SeedGiven)
	}
	config = dataset(t, strings.Replace(fullLoader, `"seed": 1,`, "", 1), fullManifest)
	first, _ := loaders.Check(config, nil)
	second, _ := loaders.Check(config, nil)
	if first.SeedGiven || first.Seed < 0 || first.Seed >= 1<<53 || first.Seed == second.Seed {
		t.Errorf("fresh seeds: %d, %d, given %v", first.Seed, second.Seed, first.SeedGiven)
	}
}

// TestModelSpecs: dtypes and shapes of a signature are compared.
func TestModelSpecs(t *testing.T) {
	config := dataset(t, listConfig, fullManifest)
	list := filepath.Join(filepath.Dir(config), "files.txt")
	if err := os.WriteFile(list, []byte("gs://b/a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	plan, problems := loaders.Check(config, nil)
	if plan == nil {
		t.Fatal(problems)
	}
	right := plan.Tensors[0]
	tests := []struct {
		name string
		spec loaders.TensorSpec
		want string
	}{
		{"same", right, ""},
		{"unknown rank", loaders.TensorSpec{DType: right.DType}, ""},
		{"one size for any", loaders.TensorSpec{DType: right.DType, Shape: []int64{5}}, ""},
		{"other dtype", loaders.TensorSpec{DType: right.DType + 1, Shape: right.Shape}, `the model takes dtype "uint8", the pipeline gives "int32"`},
		{"other rank", loaders.TensorSpec{DType: right.DType, Shape: []int64{1, 2}}, "the model takes shape [1, 2], the pipeline gives [-1]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			names := &loaders.ModelNames{Inputs: []string{"x"}, Specs: map[string]loaders.TensorSpec{"x": tt.spec}}
			_, problems := loaders.Check(config, &loaders.CheckOptions{Model: names})
			if tt.want == "" && problems.HasErrors() || !strings.Contains(problems.Error(), tt.want) {
				t.Errorf("Check = %v", problems)
			}
			if tt.want != "" && !errors.Is(problems, millrace.ErrModel) {
				t.Errorf("class of %v", problems)
			}
		})
	}
}

// TestReadModelNames reads files of a model's names, right and wrong.
func TestReadModelNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.json")
	tests := []struct{ text, want string }{
		{`{"inputs": ["a", "b"], "outputs": []}`, ""},
		{`{"inputs": ["a"], "outputs": ["a"]}`, ""},
		{`{"inputs": ["a", "a"], "outputs": ["b"]}`, `inputs[1]: repeated name "a"`},
		{`{"inputs": "a", "outputs": ["b"]}`, `inputs: must be a list, got "a"`},
		{`{"inputs": [""], "outputs": [1]}`, "outputs[0]: must be a string, got 1"},
		{`{"input": ["a"]}`, `missing keys "inputs" and "outputs"`},
		{`[]`, "must be an object, got a list"},
		{``, "empty"},
	}
	for _, tt := range tests {
		if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
			t.Fatal(err)
		}
		names, problems := spec.ReadModelNames(path)
		if (names == nil) != (tt.want != "") || !strings.Contains(problems.Error(), tt.want) {
			t.Errorf("ReadModelNames(%s) = %v, %v", tt.text, names, problems)
		}
	}
	if names, problems := spec.ReadModelNames(path + "x"); names != nil || !errors.Is(problems, millrace.ErrIO) {
		t.Errorf("no file: %v", problems)
	}
}

// TestReadAlone reads a config and a manifest separately.
func TestReadAlone(t *testing.T) {
	path := dataset(t, fullLoader, fullManifest)
	config, problems := spec.ReadConfig(path)
	if config == nil || config.Type != spec.ContinuousSequence || config.Args.(*spec.ContinuousArgs).NumMixFiles != 1 {
		t.Errorf("ReadConfig = %+v, %v", config, problems)
	}
	manifest, problems := spec.ReadManifest(filepath.Join(filepath.Dir(path), "data", "__manifest__.json"))
	if manifest == nil || manifest.Features[0].DeserializeArgs.(*spec.RawArgs).Endian != "big" {
		t.Errorf("ReadManifest = %+v, %v", manifest, problems)
	}
	if config, problems = spec.ReadConfig(filepath.Dir(path)); config != nil || !errors.Is(problems, millrace.ErrIO) {
		t.Errorf("ReadConfig of a folder = %v", problems)
	}
	if manifest, problems = spec.ReadManifest(path); manifest != nil || !strings.Contains(problems.Error(), "unknown key") {
		t.Errorf("ReadManifest of a config = %v", problems)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add([]byte(fullLoader), []byte(fullManifest))
	f.Add([]byte(listConfig), []byte("{}"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, loader, manifest []byte) {
		if bytes.Contains(loader, []byte(`"/`)) || bytes.Contains(loader, []byte("..")) {
			return // the fuzzer must not search the machine's folders
		}
		if err := os.MkdirAll(filepath.Join(dir, "data"), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{"loader.json": loader, "data/__manifest__.json": manifest, "data/a.tfrecords": nil} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		plan, problems := loaders.Check(filepath.Join(dir, "loader.json"), &loaders.CheckOptions{Root: dir, MemoryLimit: 1 << 40})
		if (plan == nil) != problems.HasErrors() {
			t.Errorf("plan %v with %v", plan, problems)
		}
		if plan != nil {
			_ = plan.Explain()
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	dir := b.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "data"), 0o755); err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{"loader.json": fullLoader, "data/__manifest__.json": fullManifest, "data/a.tfrecords": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if plan, problems := loaders.Check(filepath.Join(dir, "loader.json"), nil); plan == nil {
			b.Fatal(problems)
		}
	}
}

// TestHostileConfigs checks configs with very many mistakes: the check is fast, and
// prints only some of the problems.
func TestHostileConfigs(t *testing.T) {
	many := func(format string) string {
		var b strings.Builder
		for i := range 60_000 {
			fmt.Fprintf(&b, format+",", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	replace := func(old, text string) string { return strings.Replace(fullLoader, old, text, 1) }
	const primary = `{"from_name": "x", "to_name": "x"}`
	tests := []struct{ name, loader string }{
		{"unknown features", replace(primary, many(`{"from_name":"no%d","to_name":"x"}`))},
		{"unknown tensors to pad", replace(`{"tensor": "x", "shape": [-1], "value": 1}`, many(`{"tensor":"a_long_name_for_a_tensor_%d"}`))},
		{"unknown tensors to slice", replace(`{"tensor": "x", "type": "slice", "args": {"slice": "[:]"}}`, many(`{"tensor":"y%d","type":"slice","args":{"slice":"["}}`))},
		{"many tensors", replace(primary, primary+","+many(`{"from_name":"x","to_name":"y%d"}`))},
		{"many tensors, none known to a step", strings.Replace(replace(primary, primary+","+many(`{"from_name":"x","to_name":"y%d"}`)), `"processing_steps": [`, `"processing_steps": [`+many(`{"tensor":"z%d"}`)+",", 1)},
		{"unknown keys", replace(`"seed": 1,`, many(`"key_number_%d":1`)+",")},
		{"a long slice", replace(`"[:]"`, `"`+strings.Repeat("x,", 1<<20)+`"`)},
		{"a long name", replace(`"from_name": "x"`, `"from_name": "`+strings.Repeat("x", 1<<20)+`"`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, problems := check(t, tt.loader, fullManifest)
			if tt.name != "many tensors" && !problems.HasErrors() {
				t.Error("nothing is wrong")
			}
			if n := len(problems.Error()); n > 1<<20 {
				t.Errorf("%d bytes of problems", n)
			}
		})
	}
}
