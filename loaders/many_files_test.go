package loaders_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"millrace/internal/test/fixture"
	"millrace/internal/test/soak"
	"millrace/internal/test/testruntime"
	"millrace/tfrecord"
	"millrace/tfrecord/index"
)

// openFiles returns how many files of a folder this process has open.
func openFiles(t *testing.T, folder string) (n int) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if path, err := os.Readlink(link); err == nil && filepath.Dir(path) == folder {
			n++
		}
	}
	return n
}

// writeManyFiles writes files of one record each, which is its number, with an index.
func writeManyFiles(t *testing.T, f *fixture.Dataset, n int) {
	t.Helper()
	for i := range n {
		f.WriteRecords(t, fmt.Sprintf("%06d.tfrecords", i), fixture.Records(int64(i), int64(i)+1)...)
	}
}

// A dataset of very many files of one record each is read in order and shuffled,
// without and with indexes, and never has more than a few of them open. In "make soak"
// there are 100,000 files, and the log has the time.
func TestManyFiles(t *testing.T) {
	testruntime.Need(t)
	if runtime.GOOS != "linux" {
		t.Skip("counts open files as Linux shows them")
	}
	n := soak.Rounds(2000, 100_000)
	f := fixture.New(t)
	writeManyFiles(t, f, n)
	f.Args["target_batch_size"], f.Args["num_parallel_reads"] = 500, 2
	plain := maps.Clone(f.Args)
	for name, args := range map[string]fixture.Object{
		"in order": nil, "buffers": buffers(fixture.Object{"epochs": 1, "target_batch_size": 500}), "exact": exact(1, fixture.Object{"target_batch_size": 500}),
	} {
		f.Args = maps.Clone(plain)
		maps.Copy(f.Args, args)
		for _, indexed := range []bool{false, true} {
			if indexed {
				writeIndexes(t, f)
			}
			begin := time.Now()
			l := openSequence(t, f)
			opened := time.Since(begin)
			var first time.Duration
			var got []int64
			most := 0
			for b, err := range l.Batches(t.Context()) {
				if err != nil {
					t.Fatal(name, err)
				}
				if first == 0 {
					first = time.Since(begin)
				}
				most = max(most, openFiles(t, f.Data()))
				got = append(got, b.Tensor("id").Value().([]int64)...)
			}
			t.Logf("%s, indexed %v: %d files, opened after %v, first batch after %v, all after %v, at most %d open", name, indexed, n, opened, first, time.Since(begin), most)
			if most > 256 { // the limit of the reader by position
				t.Errorf("%s, indexed %v: %d files are open at once", name, indexed, most)
			}
			if args["shuffle"] == true {
				slices.Sort(got)
			}
			if !slices.Equal(got, upTo(0, int64(n))) {
				t.Errorf("%s, indexed %v: %d records, want each of %d once", name, indexed, len(got), n)
			}
			l.Close()
			if left := openFiles(t, f.Data()); left > 0 {
				t.Errorf("%s, indexed %v: %d files stay open", name, indexed, left)
			}
		}
	}
}

// writeIndexes writes the index of each file.
func writeIndexes(t *testing.T, f *fixture.Dataset) {
	t.Helper()
	paths, err := filepath.Glob(f.Path("*.tfrecords"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := index.Scan(t.Context(), paths, &index.Options{ReaderOptions: tfrecord.ReaderOptions{}, Layout: true, Write: true}); err != nil {
		t.Fatal(err)
	}
}
