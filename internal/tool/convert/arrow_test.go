package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

// rowsOfJSON returns a record batch with a column of each kind.
func rowsOfJSON(t *testing.T, text string) (*arrow.Schema, arrow.RecordBatch) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int32},
		{Name: "big", Type: arrow.PrimitiveTypes.Uint64},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "ok", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String)},
		{Name: "vec", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32)},
		{Name: "grid", Type: arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int64))},
	}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema, batch
}

const threeRows = `[
	{"id": -1, "big": 18446744073709551615, "x": 0.5, "name": "a", "ok": true, "tags": ["u", "v"], "vec": [1, 2], "grid": [[1, 2], [3, 4]]},
	{"id": 2, "big": 7, "x": null, "name": "süß", "ok": false, "tags": [], "vec": [3, 4], "grid": [[5, 6]]},
	{"id": 3, "big": 0, "x": -2, "name": null, "ok": true, "tags": ["w"], "vec": [5, 6], "grid": []}]`

// writeArrow writes the rows in each of the formats and returns the paths.
func writeArrow(t *testing.T, text string) map[string]string {
	t.Helper()
	schema, batch := rowsOfJSON(t, text)
	paths := make(map[string]string)
	create := func(name string) *os.File {
		paths[name] = filepath.Join(t.TempDir(), name)
		f, err := os.Create(paths[name])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	pq, err := pqarrow.NewFileWriter(schema, create("t.parquet"), parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	check(err)
	check(pq.Write(batch))
	check(pq.Close())
	file, err := ipc.NewFileWriter(create("t.arrow"), ipc.WithSchema(schema), ipc.WithLZ4())
	check(err)
	check(file.Write(batch))
	check(file.Close())
	stream := ipc.NewWriter(create("t.feather"), ipc.WithSchema(schema))
	check(stream.Write(batch))
	check(stream.Close())
	return paths
}

// records returns the records of a dataset, as text.
func records(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.tfrecords"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, path := range paths {
		for r, err := range tfrecord.Records(path, nil) {
			if err != nil {
				t.Fatal(err)
			}
			f, err := example.Parse(r.Data)
			if err != nil {
				t.Fatal(err)
			}
			named, err := f.Decode()
			if err != nil {
				t.Fatal(err)
			}
			row := ""
			for _, n := range named {
				row += fmt.Sprintf("%s=%v%v%q ", n.Name, n.Feature.Ints, n.Feature.Floats, n.Feature.Bytes)
			}
			all = append(all, row)
		}
	}
	return all
}

// TestArrow converts Parquet, Arrow files and Arrow streams of the same rows.
func TestArrow(t *testing.T) {
	want := []string{
		`id=[-1][][] big=[-1][][] x=[][0.5][] name=[][]["a"] ok=[1][][] tags=[][]["u" "v"] vec=[][1 2][] grid=[1 2 3 4][][] `,
		`id=[2][][] big=[7][][] name=[][]["süß"] ok=[0][][] tags=[][][] vec=[][3 4][] grid=[5 6][][] `,
		`id=[3][][] big=[0][][] x=[][-2][] ok=[1][][] tags=[][]["w"] vec=[][5 6][] grid=[][][] `,
	}
	const wantColumns = "id int32 [] big uint64 [] x float32 [-1] name string [-1] ok bool [] tags string [-1] vec float32 [2] grid int64 [-1 2] "
	for name, path := range writeArrow(t, threeRows) {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			c := &conversion{dir: dir}
			c.Workers = 2
			if err := c.plan(t.Context(), []string{path}); err != nil {
				t.Fatal(err)
			}
			columns := ""
			for _, f := range c.manifest.Features {
				columns += fmt.Sprint(f.Name, " ", f.DType, " ", f.Shape, " ")
			}
			if columns != wantColumns {
				t.Errorf("columns\n got %s\nwant %s", columns, wantColumns)
			}
			if _, err := c.write(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := records(t, dir); strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestDamagedArrow cuts files, and flips bytes of them: each is either an error about
// the file or is converted, and none ends the process.
func TestDamagedArrow(t *testing.T) {
	for name, path := range writeArrow(t, threeRows) {
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := filepath.Join(t.TempDir(), name)
		for i := range 16 {
			data := append([]byte(nil), whole...)
			if at := i * len(data) / 16; i%2 == 0 {
				data = data[:at]
			} else {
				data[at] ^= 0x55
			}
			if err := os.WriteFile(bad, data, 0o644); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "out")
			if _, err := Run(t.Context(), []string{bad}, dir, &Options{}); err != nil && !strings.Contains(err.Error(), bad) {
				t.Errorf("%s, %d: the file is not named: %v", name, i, err)
			}
		}
	}
}

// The metadata of a Parquet file shows which columns lack values. If row groups lack
// these counts, the file is read instead.
func TestParquetCounts(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int32},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "name", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	for _, stats := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "flat.parquet")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := pqarrow.NewFileWriter(schema, f, parquet.NewWriterProperties(parquet.WithStats(stats)), pqarrow.DefaultWriterProps())
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{`[{"id": 1, "x": 1.5, "name": "a"}, {"id": 2, "x": 2, "name": "b"}]`, `[{"id": 3, "x": null, "name": "c"}]`} {
			batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Write(batch); err != nil { // a row group
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		in, err := openParquet(path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if _, _, ok := in.(counted).counts(); ok != stats {
			t.Errorf("statistics %t: the counts are known: %t", stats, ok)
		}
		s, err := surveyBatches(t.Context(), path, in)
		if err != nil || s.rows != 3 || s.columns[0].Optional || !s.columns[1].Optional || s.columns[2].Optional {
			t.Errorf("statistics %t: got %+v, %v, want 3 rows, and that x alone lacks values", stats, s, err)
		}
		out := filepath.Join(t.TempDir(), "out")
		if _, err := Run(t.Context(), []string{path}, out, &Options{}); err != nil {
			t.Fatal(err)
		}
		want := []string{`id=[1][][] x=[][1.5][] name=[][]["a"] `, `id=[2][][] x=[][2][] name=[][]["b"] `, `id=[3][][] name=[][]["c"] `}
		if got := records(t, out); !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
