package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

func ints(v ...int64) example.Feature { return example.Feature{Kind: example.Int64, Ints: v} }
func floats(v ...float32) example.Feature {
	return example.Feature{Kind: example.Float, Floats: v}
}
func texts(v ...string) example.Feature {
	f := example.Feature{Kind: example.Bytes}
	for _, s := range v {
		f.Bytes = append(f.Bytes, []byte(s))
	}
	return f
}

// pack returns the bytes of a TFRecord file.
func pack(t *testing.T, c tfrecord.Compression, records ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tfrecord.NewWriter(&b, c)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// digit is an Example as in a dataset of images.
func digit(i int64) []byte {
	return example.Marshal([]example.Named{
		{Name: "image", Feature: floats(float32(i), 0.5, float32(-i), 16)},
		{Name: "label", Feature: ints(i)},
		{Name: "name", Feature: texts(fmt.Sprint("digit ", i))},
	})
}

// dataset writes files to a new folder and returns it.
func dataset(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// text inspects a dataset and returns the text, without its path.
func text(t *testing.T, dir string, o *Options) (*Report, string) {
	t.Helper()
	r, err := Dataset(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := r.WriteText(&b, false); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.ReplaceAll(b.String(), dir, "data")) {
		if len([]rune(line)) > 81 && !strings.HasPrefix(line, "note: ") {
			t.Errorf("longer than 80 columns: %s", line)
		}
	}
	return r, strings.ReplaceAll(b.String(), dir, "data")
}

func TestDataset(t *testing.T) {
	dir := dataset(t, map[string][]byte{
		"b.tfrecords":       pack(t, tfrecord.None, digit(7), digit(12)),
		"a/deep.tfrecords":  pack(t, tfrecord.None, digit(9)),
		"empty.tfrecords":   {},
		"notes.txt":         []byte("not data"),
		"other.tfrecord":    []byte("not data either"),
		"__manifest__.json": []byte("{}"),
	})
	r, got := text(t, dir, nil)
	want := `data: 3 files, 3 records, 259 B, Example

FILE              RECORDS   SIZE  LARGEST  COMPRESSION
a/deep.tfrecords        1   86 B     70 B  none
b.tfrecords             2  173 B     71 B  none
empty.tfrecords         0    0 B      0 B  none

FEATURE  KIND   RECORDS  VALUES  RANGE
image    float        3       4  -12 to 16
label    int          3       1  7 to 12
name     bytes        3       1  7-8 bytes of text

note: a dataset of type dir only reads files that end in .tfrecords; it ignores other.tfrecord; to read all of them, write "pattern": ["**/*.tfrecord", "**/*.tfrecords"]
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	manifest, err := r.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	wantManifest := `{"compression": null, "allow_var_len": false, "features": [
		{"name": "image", "dtype": "float32", "shape": [4], "deserialize_type": "float"},
		{"name": "label", "dtype": "int64", "shape": [], "deserialize_type": "int"},
		{"name": "name", "dtype": "string", "shape": [], "deserialize_type": "string"}]}`
	sameJSON(t, wantManifest, string(manifest))
}

func sameJSON(t *testing.T, want, got string) {
	t.Helper()
	var w, g any
	if err := errors.Join(json.Unmarshal([]byte(want), &w), json.Unmarshal([]byte(got), &g)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

func TestSequences(t *testing.T) {
	song := func(n int) []byte {
		steps := make([]example.Feature, n)
		for i := range steps {
			steps[i] = floats(float32(i), float32(math.NaN()))
		}
		return example.MarshalSequence([]example.Named{{Name: "id", Feature: texts("\xff\x00")}},
			[]example.NamedList{{Name: "audio", Features: steps}})
	}
	dir := dataset(t, map[string][]byte{"s.tfrecords": pack(t, tfrecord.GZIP, song(3), song(0), song(12))})
	r, got := text(t, dir, nil)
	for _, want := range []string{
		", SequenceExample, no manifest",
		"s.tfrecords        3  ",
		" B  gzip\n",
		"\nid       bytes             3         1  2 bytes\n",
		"\naudio    float list        3  0-12 x 2  0 to 11, 15 NaN\n",
		`note: feature "id": byte strings of 2 bytes each; if they are serialized tensors, set deserialize_type to "raw" in the manifest`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	manifest, err := r.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, `{"compression": "gzip", "allow_var_len": true, "features": [
		{"name": "id", "dtype": "string", "shape": [], "var_len": false, "deserialize_type": "string"},
		{"name": "audio", "dtype": "float32", "shape": [2], "var_len": true, "deserialize_type": "float"}]}`, string(manifest))
}

// For Examples a manifest describes all features that have exactly one kind.
func TestVariableFeatures(t *testing.T) {
	rec := func(features ...example.Named) []byte { return example.Marshal(features) }
	dir := dataset(t, map[string][]byte{"u.tfrecords": pack(t, tfrecord.ZLIB,
		rec(example.Named{Name: "mixed", Feature: ints(1)}, example.Named{Name: "some", Feature: ints(1)}, example.Named{Name: "lengths", Feature: ints(1)}, example.Named{Name: "none"}, example.Named{Name: "empty", Feature: ints()}),
		rec(example.Named{Name: "mixed", Feature: floats(1)}, example.Named{Name: "lengths", Feature: ints(1, 2)}, example.Named{Name: "empty", Feature: ints()}),
	)})
	r, got := text(t, dir, nil)
	for _, want := range []string{
		`note: feature "mixed": holds float in some records and int in others, so no manifest can describe it`,
		`note: feature "some": is in 1 of 2 records; "default": [] in the manifest makes it empty in the others`,
		`note: feature "none": holds no values, so no`,
		"mixed    float/int        2       1  1, 1\n",
		"lengths  int              2     1-2  1 to 2\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	manifest, err := r.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, `{"compression": "zlib", "allow_var_len": false, "features": [
		{"name": "empty", "dtype": "int64", "shape": [-1], "deserialize_type": "int"},
		{"name": "lengths", "dtype": "int64", "shape": [-1], "deserialize_type": "int"},
		{"name": "some", "dtype": "int64", "shape": [-1], "default": [], "deserialize_type": "int"}]}`, string(manifest))
}

// A feature of SequenceExamples has one shape and is in every record.
func TestUnfit(t *testing.T) {
	named := func(name string, f example.Feature) example.Named { return example.Named{Name: name, Feature: f} }
	lists := []example.NamedList{{Name: "steps", Features: []example.Feature{ints(1), ints(1, 2)}}}
	dir := dataset(t, map[string][]byte{"u.tfrecords": pack(t, tfrecord.None,
		example.MarshalSequence([]example.Named{named("some", ints(1)), named("lengths", ints(1)), named("empty", ints())}, lists),
		example.MarshalSequence([]example.Named{named("lengths", ints(1, 2)), named("empty", ints())}, lists),
	)})
	r, got := text(t, dir, nil)
	for _, want := range []string{
		`note: feature "some": is in 1 of 2 records, so no`,
		`note: feature "lengths": holds 1 to 2 values, so no`,
		`note: feature "empty": holds no values, so no`,
		`note: feature list "steps": holds 1 to 2 values a step, so no`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if _, err := r.Manifest(); !errors.Is(err, millrace.ErrSchema) {
		t.Errorf("Manifest: %v", err)
	}
}

// Data files with other names are found, and so is the pattern for them in a loader
// config.
func TestOtherNames(t *testing.T) {
	one, zip := pack(t, tfrecord.None, digit(1)), pack(t, tfrecord.GZIP, digit(1))
	tests := []struct {
		name, note string
		files      map[string][]byte
		want       []string // the data files
		pattern    []string
	}{
		{"shards", `write "pattern": "*.tfrecord-*-of-*" beside data_dir`,
			map[string][]byte{"a.tfrecord-00000-of-00002": one, "a.tfrecord-00001-of-00002": one, "README": []byte("text")},
			[]string{"a.tfrecord-00000-of-00002", "a.tfrecord-00001-of-00002"}, []string{"*.tfrecord-*-of-*"}},
		{"compressed, in folders", `write "pattern": "**/*.tfrecord.gz" beside`,
			map[string][]byte{"x/a.tfrecord.gz": zip, "y/b.tfrecord.gz": zip}, []string{"x/a.tfrecord.gz", "y/b.tfrecord.gz"}, []string{"**/*.tfrecord.gz"}},
		{"by their content", `write "pattern": "part-r-*" beside`,
			map[string][]byte{"part-r-00000": one, "part-r-00001": zip, "_SUCCESS": {}, "notes": []byte("no record, though it is long")}, []string{"part-r-00000", "part-r-00001"}, []string{"part-r-*"}},
		{"no pattern", `name them with "pattern" beside data_dir, or in a list`,
			map[string][]byte{"a": one, "b": one, "c": one, "d": one, "e": one}, []string{"a", "b", "c", "d", "e"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, got := text(t, dataset(t, test.files), nil)
			var files []string
			for _, f := range r.Files {
				files = append(files, f.Path)
			}
			if diff := cmp.Diff(test.want, files); diff != "" {
				t.Errorf("files (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(test.pattern, r.Pattern); diff != "" {
				t.Errorf("pattern (-want +got)\n%s", diff)
			}
			if !strings.Contains(got, test.note) {
				t.Errorf("no %q in\n%s", test.note, got)
			}
		})
	}
}

// TestDamaged reports each damaged file with the location of the damage, and shows the
// rest.
func TestDamaged(t *testing.T) {
	good := pack(t, tfrecord.None, digit(1), digit(2), digit(3))
	flipped := bytes.Clone(good)
	flipped[120] ^= 1
	gz := pack(t, tfrecord.GZIP, digit(1), digit(2), digit(3))
	junk := pack(t, tfrecord.None, digit(1), []byte("\xff\xff"), digit(2), nil, []byte("x"), []byte("y"), []byte("z"))
	dir := dataset(t, map[string][]byte{
		"1-good.tfrecords": good,
		"2-flip.tfrecords": flipped,
		"3-cut.tfrecords":  good[:len(good)-30],
		"4-gzip.tfrecords": gz[:len(gz)-5],
		"5-html.tfrecords": []byte("<html>not found, nothing to see here</html>"),
		"6-junk.tfrecords": junk,
	})
	r, got := text(t, dir, nil)
	var problems []string
	for _, p := range r.Problems {
		problems = append(problems, strings.ReplaceAll(p.Error(), dir+"/", ""))
	}
	wants := []string{
		"2-flip.tfrecords: record 1 (offset 86): ",
		"3-cut.tfrecords: record 2 (offset 172): ",
		"4-gzip.tfrecords: ",
		"5-html.tfrecords: ",
		"6-junk.tfrecords: record 1 (offset 86): ",
		"6-junk.tfrecords: record 3 (offset ",
		"6-junk.tfrecords: record 4 (offset ",
		"6-junk.tfrecords: 2 more records cannot be read",
	}
	if len(problems) != len(wants) {
		t.Fatalf("problems:\n%s", strings.Join(problems, "\n"))
	}
	for i, want := range wants {
		if !strings.HasPrefix(problems[i], want) {
			t.Errorf("problem %d\n got %s\nwant %s", i, problems[i], want)
		}
	}
	for _, want := range []string{"1-good.tfrecords        3", "2-flip.tfrecords        1  258 B     70 B  none, damaged", "4-gzip.tfrecords        3", "\nlabel    int  "} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if _, err := r.Manifest(); !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), "compression is none in 1-good.tfrecords, but gzip in 4-gzip.tfrecords") {
		t.Errorf("Manifest: %v", err)
	}
}

func TestSample(t *testing.T) {
	var records [][]byte
	for i := range 10 {
		records = append(records, digit(int64(i)))
	}
	plain, zip := pack(t, tfrecord.None, records...), pack(t, tfrecord.GZIP, records...)
	dir := dataset(t, map[string][]byte{"plain.tfrecords": plain, "zip.tfrecords": zip, "cut.tfrecords": plain[:len(plain)-1]})
	r, got := text(t, dir, &Options{Sample: 4})
	for _, want := range []string{"data: 3 files, at least 18 records", "; parsed 12\n", "plain.tfrecords       10", "zip.tfrecords         4+", "label    int         12       1  0 to 3\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if len(r.Problems) != 1 || !errors.Is(r.Problems[0], millrace.ErrTruncated) {
		t.Errorf("problems: %v", r.Problems)
	}
	if r.Files[1].Records != 10 || r.Files[1].AtLeast || !r.Files[2].AtLeast {
		t.Errorf("files: %+v %+v", r.Files[1], r.Files[2])
	}
}

func TestManyFiles(t *testing.T) {
	files := map[string][]byte{}
	for i := range 50 {
		files[fmt.Sprintf("%s-%02d.tfrecords", strings.Repeat("long", 12), i)] = pack(t, tfrecord.None, digit(1))
	}
	_, got := text(t, dataset(t, files), nil)
	if n := strings.Count(got, "...glong-"); n != maxFiles || !strings.Contains(got, "and 30 more (--all shows them)") {
		t.Errorf("%d files in\n%s", n, got)
	}
}

func TestOneFile(t *testing.T) {
	dir := dataset(t, map[string][]byte{"x.bin": pack(t, tfrecord.None, digit(5))})
	r, err := Dataset(t.Context(), filepath.Join(dir, "x.bin"), nil)
	if err != nil || r.Records != 1 || len(r.Features) != 3 {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestErrors(t *testing.T) {
	dir := dataset(t, map[string][]byte{"empty/readme": {}, "empty/notes.txt": []byte("no records, but more than twelve bytes")})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	full := dataset(t, map[string][]byte{"x.tfrecords": pack(t, tfrecord.None, digit(5))})
	tests := []struct {
		name  string
		ctx   context.Context
		path  string
		class millrace.Class
		want  string
	}{
		{"absent", t.Context(), filepath.Join(dir, "absent"), millrace.ErrIO, "absent: no such file or directory"},
		{"no files", t.Context(), filepath.Join(dir, "empty"), millrace.ErrConfig, "empty: no file in this folder ends in .tfrecords"},
		{"canceled", canceled, full, millrace.ErrCanceled, "canceled"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Dataset(test.ctx, test.path, nil)
			if !errors.Is(err, test.class) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant %s: %s", err, test.class, test.want)
			}
		})
	}
}
