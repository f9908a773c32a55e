package writer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// TestShards writes shards of a number of records, with index files that fit.
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

// TestResume goes on after the whole shards of a Writer that was never closed, as after
// a kill.
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
	// A shard that is not what the list says is written again, and all after it.
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

// TestWithoutCommit leaves nothing.
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

// TestRefused says what stands in the way.
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

// TestFullDisk: a write that fails leaves no dataset, and says why.
func TestFullDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	w, err := writer.Create(dir, manifest(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.Symlink("/dev/full", filepath.Join(writer.PartFolder(dir), "part-00000.tfrecords.open")); err != nil {
		t.Fatal(err)
	}
	fill(t, w, 1)
	err = w.Commit()
	if !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("got %v", err)
	}
	if again := w.Commit(); again == nil {
		t.Error("a second Commit succeeds")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the dataset is there: %v", err)
	}
}
