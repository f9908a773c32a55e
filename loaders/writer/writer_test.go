package writer_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"millrace"
	"millrace/loaders/spec"
	"millrace/loaders/writer"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
	"millrace/tfrecord/index"
)

type point struct {
	X     [2]float32 `example:"x"`
	Label int64      `example:"label"`
}

func manifest(t *testing.T) *spec.ManifestConfig {
	t.Helper()
	e, err := example.NewEncoder[point]()
	if err != nil {
		t.Fatal(err)
	}
	m, err := writer.Manifest(e.Specs())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// fill writes records until the dataset has n of them.
func fill(t *testing.T, w *writer.Writer, n int) {
	t.Helper()
	for i := int(w.Records()); i < n; i++ {
		if err := w.Write(fmt.Appendf(nil, "record %d", i)); err != nil {
			t.Fatal(err)
		}
	}
}

// names returns the names in a folder.
func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

// read returns the records of a dataset.
func read(t *testing.T, dir string, c tfrecord.Compression) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.tfrecords"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, path := range paths {
		for r, err := range tfrecord.Records(path, &tfrecord.ReaderOptions{Compression: c}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(r.Data))
		}
	}
	return all
}

// TestShards writes shards with a fixed number of records, with matching index files.
func TestShards(t *testing.T) {
	for _, c := range []tfrecord.Compression{tfrecord.None, tfrecord.GZIP, tfrecord.ZLIB} {
		t.Run(c.String(), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			w, err := writer.Create(dir, manifest(t), &writer.Options{ShardRecords: 4, Compression: c})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			fill(t, w, 10)
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the folder is there before Commit: %v", err)
			}
			if err := w.Commit(); err != nil {
				t.Fatal(err)
			}
			want := "__manifest__.json part-00000.tfrecords part-00000.tfrecords.millrace-index part-00001.tfrecords part-00001.tfrecords.millrace-index part-00002.tfrecords part-00002.tfrecords.millrace-index"
			if got := names(t, dir); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if got := read(t, dir, c); len(got) != 10 || got[9] != "record 9" {
				t.Errorf("records %q", got)
			}
			paths, _ := filepath.Glob(filepath.Join(dir, "*.tfrecords"))
			o := &index.Options{Layout: true, Warn: func(err error) { t.Error(err) }}
			o.Compression = c
			believed, err := index.Lookup(t.Context(), paths, o)
			if err != nil {
				t.Fatal(err)
			}
			o.Rebuild = true
			scanned, err := index.Scan(t.Context(), paths, o)
			if err != nil {
				t.Fatal(err)
			}
			for i := range paths {
				if !believed[i].Believed || believed[i].Digest != scanned[i].Digest || believed[i].Members != scanned[i].Members {
					t.Errorf("%s: the index says %+v, a scan %+v", paths[i], believed[i].Index, scanned[i].Index)
				}
			}
			if left := names(t, filepath.Dir(dir)); left != "data" {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

// TestShardBytes ends a shard before it grows too large.
func TestShardBytes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	w, err := writer.Create(dir, manifest(t), &writer.Options{ShardBytes: 50}) // two records of 24 bytes
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fill(t, w, 5)
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(w.Shards()); got != "[{part-00000.tfrecords 2 48} {part-00001.tfrecords 2 48} {part-00002.tfrecords 1 24}]" {
		t.Errorf("shards %s", got)
	}
}

// TestResume continues after the complete shards of a Writer that was never closed, as
// after a kill.
func TestResume(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	create := func(resume string) *writer.Writer {
		t.Helper()
		w, err := writer.Create(dir, manifest(t), &writer.Options{ShardRecords: 3, Resume: resume})
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := create("v1")
	fill(t, w, 8)
	w.Close()
	if w = create("v2"); w.Records() != 0 {
		t.Errorf("of another text: %d records are taken over", w.Records())
	}
	fill(t, w, 8)
	if _, err := writer.Create(dir, manifest(t), nil); !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second writer: %v", err)
	}
	w.Close()
	if w = create("v2"); w.Records() != 6 {
		t.Errorf("%d records are safe, want 6", w.Records())
	}
	// A shard that does not match the list is written again, and so are all later ones.
	if err := os.Truncate(filepath.Join(writer.PartFolder(dir), "part-00001.tfrecords"), 5); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if w = create("v2"); w.Records() != 3 {
		t.Errorf("%d records are safe, want 3", w.Records())
	}
	fill(t, w, 8)
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	want := ""
	for i := range 8 {
		want += fmt.Sprintf("record %d,", i)
	}
	if got := strings.Join(read(t, dir, ""), ",") + ","; got != want {
		t.Errorf("got %s", got)
	}
	if got := names(t, filepath.Dir(dir)); got != "data" || strings.Contains(names(t, dir), "progress") {
		t.Errorf("left behind: %s, %s", got, names(t, dir))
	}
}

// A Writer that starts again removes the old list: otherwise, after a kill, a Writer of
// the first text would take its shards for those of the list.
func TestResumeForgets(t *testing.T) {
	for _, resume := range []string{"", "v2"} {
		dir := filepath.Join(t.TempDir(), "data")
		var last *writer.Writer
		for _, text := range []string{"v1", resume} {
			w, err := writer.Create(dir, manifest(t), &writer.Options{ShardRecords: 3, Resume: text})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if last = w; text == "v1" {
				fill(t, w, 8)
				w.Close()
				if got := names(t, writer.PartFolder(dir)); !strings.Contains(got, "progress.json") {
					t.Errorf("%q left %s, want progress.json", text, got)
				}
			}
		}
		if got := names(t, writer.PartFolder(dir)); got != "" || last.Records() != 0 {
			t.Errorf("%q begins with %d records and the files %q, want none", resume, last.Records(), got)
		}
	}
}

// Records of any size are read as they were written, whether or not they fit into a
// file's buffer, and whatever shard they are in.
func TestStructSizes(t *testing.T) {
	type text struct {
		Bytes []byte `example:"b"`
	}
	dir := filepath.Join(t.TempDir(), "data")
	w, err := writer.Structs[text](dir, &writer.Options{ShardBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var want []string
	for i, size := range []int{0, 1, 1000, 100, 200_000, 70_000, 5, 260_000, 262_000, 262_140, 3_000_000, 7, 300_000, 300_000, 200, 900_000, 90_000, 90_000, 1} {
		b := make([]byte, size)
		for k := range b {
			b[k] = byte(i + k*k>>8)
		}
		if err := w.Write(&text{b}); err != nil {
			t.Fatal(err)
		}
		want = append(want, string(b))
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	got := read(t, dir, tfrecord.None)
	if len(got) != len(want) {
		t.Fatalf("%d records, want %d", len(got), len(want))
	}
	for i := range want {
		parsed, err := example.Parse([]byte(got[i]))
		if err != nil {
			t.Fatal(err)
		}
		if f, err := parsed.Get("b"); err != nil || len(f.Bytes) != 1 || string(f.Bytes[0]) != want[i] {
			t.Errorf("record %d of %d bytes is another one (%v)", i, len(want[i]), err)
		}
	}
}

// Writing small structs allocates nothing for each of them.
func TestStructsAllocate(t *testing.T) {
	w, err := writer.Structs[point](filepath.Join(t.TempDir(), "data"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	p := point{Label: 1000}
	allocs := testing.AllocsPerRun(20_000, func() {
		if err := w.Write(&p); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations a struct, want none", allocs)
	}
}

// TestWithoutCommit checks that nothing remains without Commit.
func TestWithoutCommit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	w, err := writer.Structs[point](dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(&point{Label: 1}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if got := names(t, filepath.Dir(dir)); got != "" {
		t.Errorf("left behind: %s", got)
	}
	if err := w.Write(&point{}); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("Write after Close: %v", err)
	}
}

// TestRefused checks that errors name the reason.
func TestRefused(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "notes"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		dir  string
		o    *writer.Options
		want string
	}{
		{full, nil, `the folder is not empty; it has notes, for one`},
		{filepath.Join(full, "notes", "data"), nil, "not a directory"},
		{t.TempDir(), &writer.Options{Compression: "zip"}, `the compression "zip" is unknown`},
		{t.TempDir(), &writer.Options{ShardRecords: -1}, "negative"},
	} {
		_, err := writer.Create(tt.dir, manifest(t), tt.o)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q in it", err, tt.want)
		}
	}
}

// TestEmptyFolder: a dataset replaces an empty folder, and not one that was filled in
// the meantime.
func TestEmptyFolder(t *testing.T) {
	dir := t.TempDir()
	w, err := writer.Create(dir, manifest(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, w, 3)
	if err := errors.Join(w.Commit(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, dir), "__manifest__.json part-00000.tfrecords part-00000.tfrecords.millrace-index"; got != want {
		t.Errorf("the dataset has %s, want %s", got, want)
	}

	dir = t.TempDir()
	if w, err = writer.Create(dir, manifest(t), nil); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fill(t, w, 3)
	if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(); !errors.Is(err, millrace.ErrConfig) || !strings.Contains(err.Error(), "the folder is not empty; it has notes") {
		t.Errorf("got %v", err)
	}
}

// TestWriteFails: if the system refuses a write, there is no dataset, and the error
// gives the reason. A limit on the size of files refuses writes like a full disk. The
// limit holds for a process, so the test starts itself again as another process.
func TestWriteFails(t *testing.T) {
	const inside = "MILLRACE_TEST_LIMITED"
	if os.Getenv(inside) == "" {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 1 && exec "$0" -test.run '^TestWriteFails$'`, os.Args[0])
		cmd.Env = append(os.Environ(), inside+"=1")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, said)
		}
		return
	}
	dir := filepath.Join(t.TempDir(), "data")
	w, err := writer.Create(dir, manifest(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fill(t, w, 1000)
	err = w.Commit()
	if !errors.Is(err, millrace.ErrIO) || !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "part-00000.tfrecords: ") {
		t.Errorf("got %v", err)
	}
	if again := w.Commit(); again == nil {
		t.Error("a second Commit succeeds")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the dataset is there: %v", err)
	}
}
