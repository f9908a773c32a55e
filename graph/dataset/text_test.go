package dataset_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// write writes a file of a text, compressed if the name ends in gz.
func write(t testing.TB, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	var b bytes.Buffer
	b.WriteString(text)
	if strings.HasSuffix(name, "gz") {
		b.Reset()
		w := gzip.NewWriter(&b)
		w.Write([]byte(text))
		w.Close()
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestCompressedText(t *testing.T) {
	s := newScope(t)
	name := s.Const(write(t, "a.gz", "1,x\n2,y\n"))
	got := [][]any{
		all(t, dataset.TextLines(s, name, &dataset.TextLinesOptions{Compression: "GZIP", BufferBytes: 3})),
		all(t, dataset.FixedLengthRecords(s, name, 4, &dataset.FixedLengthRecordsOptions{Compression: "GZIP"})),
		collect[any](t, dataset.CSV(s, name, []dataset.CSVField{{DType: tfbridge.Int32}, {DType: tfbridge.String}}, &dataset.CSVOptions{Compression: "GZIP"})),
	}
	want := [][]any{{"1,x", "2,y"}, {"1,x\n", "2,y\n"}, {[]any{int32(1), "x"}, []any{int32(2), "y"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines, records, rows (-want +got)\n%s", diff)
	}
}

func TestCSVParity(t *testing.T) {
	raw, err := os.ReadFile("testdata/parity/dataset.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string]any
	if err := json.Unmarshal(raw, &recorded); err != nil {
		t.Fatal(err)
	}
	s := newScope(t)
	name := s.Const(write(t, "a.csv", "id,name,x\n1,\"a,b\",2.5\n2,,NA\n,c,1e3\n"))
	id := dataset.CSVField{Name: "id", DType: tfbridge.Int64, Default: -1}
	text := dataset.CSVField{Name: "name", DType: tfbridge.String, Default: "none"}
	x := dataset.CSVField{Name: "x", DType: tfbridge.Double, Default: 0.5}
	whole := dataset.CSV(s, name, []dataset.CSVField{id, text, x}, &dataset.CSVOptions{Header: true, NA: "NA"})
	some := dataset.CSV(s, name, []dataset.CSVField{id, x}, &dataset.CSVOptions{Header: true, NA: "NA", Columns: []int64{0, 2}})
	for name, d := range map[string]*dataset.Dataset{"csv": whole, "csv_select": some} {
		var rows []any
		for _, row := range collect[map[string]any](t, d) {
			values := []any{row["id"], row["name"], row["x"]}
			if name == "csv_select" {
				values = []any{row["id"], row["x"]}
			}
			rows = append(rows, values)
		}
		if diff := cmp.Diff(recorded[name], plain(t, rows)); diff != "" {
			t.Errorf("%s (-Python +got)\n%s", name, diff)
		}
	}
}

// Fields without a default are required, and a wrong row does not end the
// dataset.
func TestCSVErrors(t *testing.T) {
	s := newScope(t)
	name := s.Const(write(t, "a.csv", "1;x\n;y\n3;z;4\n5;w\n"))
	d := dataset.CSV(s, name, []dataset.CSVField{{DType: tfbridge.Int64}, {DType: tfbridge.String}}, &dataset.CSVOptions{Delimiter: ";"})
	if _, err := tryAll(t, d); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("an empty field: %v", err)
	}
	got := collect[[]any](t, d.IgnoreErrors())
	if diff := cmp.Diff([][]any{{int64(1), "x"}, {int64(5), "w"}}, got); diff != "" {
		t.Errorf("other rows (-want +got)\n%s", diff)
	}
}

func TestFixedLengthRemainder(t *testing.T) {
	s := newScope(t)
	name := write(t, "a.bin", "abcde")
	_, err := tryAll(t, dataset.FixedLengthRecords(s, s.Const(name), 2, nil))
	if !errors.Is(err, tfbridge.InvalidArgument) || !strings.Contains(err.Error(), "a.bin") {
		t.Errorf("half a record: %v", err)
	}
}

func TestFilesOfNothing(t *testing.T) {
	s := newScope(t)
	_, err := tryAll(t, dataset.Files(s, s.Const(filepath.Join(t.TempDir(), "*.txt")), nil))
	if !errors.Is(err, tfbridge.InvalidArgument) || !strings.Contains(err.Error(), "no files match") {
		t.Errorf("error %v", err)
	}
}

func TestFilesShuffled(t *testing.T) {
	dir := t.TempDir()
	for _, name := range strings.Split("abcdefgh", "") {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	order := func(seed int64) []any {
		s := newScope(t)
		return all(t, dataset.Files(s, s.Const(filepath.Join(dir, "*")), &dataset.FilesOptions{Shuffle: true, Seed: seed}).Repeat(2))
	}
	first := order(1)
	if diff := cmp.Diff(first, order(1)); diff != "" {
		t.Errorf("one seed, two orders\n%s", diff)
	}
	if cmp.Equal(first, order(2)) || cmp.Equal(first[:8], first[8:]) {
		t.Errorf("orders of two seeds or two repetitions are equal: %v", first)
	}
}

func TestSampleByWeightsOfElements(t *testing.T) {
	s := newScope(t)
	weights := dataset.FromRows(s, [][]float32{{1, 0}, {0, 1}, {0, 1}, {1, 0}})
	d := dataset.Sample(s, ranges(s, 0, 10, 100, 110), &dataset.SampleOptions{WeightsOf: weights, Seed: 1})
	if diff := cmp.Diff(values(0, 100, 101, 1), all(t, d)); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
	endless := dataset.Sample(s, []*dataset.Dataset{dataset.Range(s, 0, 2, 1).Repeat(-1), dataset.Range(s, 5, 6, 1).Repeat(-1).Shuffle(2, nil)},
		&dataset.SampleOptions{Weights: []float64{0, 1}})
	if diff := cmp.Diff(values(5, 5, 5), all(t, endless.Take(3))); diff != "" {
		t.Errorf("elements of the only one (-want +got)\n%s", diff)
	}
}

// Sparse and ragged elements pass through windows, groups and choices.
func TestStructuresPass(t *testing.T) {
	s := newScope(t)
	d := dataset.FromRows(s, everyKind())
	windows := d.Window(s.Const(int64(2)), nil).FlatMap("again", func(s *graph.Scope, args outs) *dataset.Dataset {
		return d.ZipWindow(s, args)
	})
	sampled := dataset.Sample(s, []*dataset.Dataset{d, d.Take(0)}, &dataset.SampleOptions{Seed: 1})
	for name, d := range map[string]*dataset.Dataset{
		"windows": windows, "sampled": sampled, "concatenated": d.Take(1).Concatenate(d.Skip(1)), "options": d.WithOptions(nil).Cache(""),
	} {
		if diff := cmp.Diff(everyKind(), collect[everything](t, d)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// Each Init matches the patterns again, and Destroy is final.
func TestFilesAreMatchedAgain(t *testing.T) {
	dir := t.TempDir()
	add := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	add("a.csv")
	s := newScope(t)
	it := dataset.Files(s, s.Const(filepath.Join(dir, "*.csv")), nil).Iterator("files")
	g, err := s.Finalize()
	if err != nil {
		t.Fatal(err)
	}
	sess, err := tfbridge.NewSession(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	run := func(op *tfbridge.Operation) error {
		_, err := sess.Run(nil, nil, []*tfbridge.Operation{op})
		return err
	}
	count := func() int {
		t.Helper()
		if err := run(it.Init); err != nil {
			t.Fatal(err)
		}
		for n := 0; ; n++ {
			names, err := sess.Run(nil, it.Element, nil)
			if errors.Is(err, tfbridge.OutOfRange) {
				return n
			}
			if err != nil {
				t.Fatal(err)
			}
			names[0].Close()
		}
	}
	first := count()
	add("b.csv")
	if second := count(); first != 1 || second != 2 {
		t.Errorf("%d files, then %d, want 1 and 2", first, second)
	}
	if err := run(it.Destroy); err != nil {
		t.Fatal(err)
	}
	if err := run(it.Init); !errors.Is(err, tfbridge.NotFound) {
		t.Errorf("Init after Destroy: %v, want code NotFound", err)
	}
}
