package native_test

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph/dataset/native"
	"millrace/internal/test/corrupt"
)

// gzipped writes files again, each as several members of a gzip file.
func gzipped(t testing.TB, names []string) (paths []string) {
	t.Helper()
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		half := len(data) / 2
		paths = append(paths, writeFile(t, corrupt.Members(data[:half], nil, data[half:])))
	}
	return paths
}

// TestInflatesAhead reads compressed files, large enough for separate threads, with one
// thread and with several. The batches and the location of a fault must be the same.
func TestInflatesAhead(t *testing.T) {
	needLibrary(t)
	const fileRecords, damaged = 6000, 2
	var records [][]byte
	for i := range fileRecords {
		records = append(records, corrupt.Example(i%97)) // so that batches differ
	}
	file := corrupt.Frame(records...)
	packed := [][]byte{corrupt.Members(file, file), corrupt.Gzip(file), corrupt.Gzip(file), corrupt.Gzip(file)}
	packed[damaged][len(packed[damaged])*2/3] ^= 0x55
	var names []string
	for _, data := range packed {
		names = append(names, writeFile(t, data))
	}
	read := func(names []string, threads int64) ([]string, error) {
		o := &native.ExamplesOptions{BatchSize: 500, Epochs: 2, Compression: "GZIP", Threads: threads}
		return bits(t, nativeFiles(t, names, []int64{2 * fileRecords, fileRecords, fileRecords, fileRecords}[:len(names)], o))
	}
	want, err := read(names[:damaged], 1)
	if err != nil || len(want) != 2*3*fileRecords/500 {
		t.Fatalf("%d batches, %v", len(want), err)
	}
	var places []millrace.Error
	for _, threads := range []int64{1, 2, 100} {
		got, err := read(names[:damaged], threads)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d threads: %d batches, want %d; %v", threads, len(got), len(want), err)
		}
		got, err = read(names, threads)
		var fault *millrace.Error
		if !errors.As(err, &fault) || !errors.Is(err, millrace.ErrCorrupt) {
			t.Fatalf("%d threads: %v", threads, err)
		}
		if whole := len(want) / 2; len(got) < whole || !slices.Equal(got[:whole], want[:whole]) {
			t.Errorf("%d threads: %d batches before the fault, at least %d are good", threads, len(got), whole)
		}
		places = append(places, millrace.Error{File: fault.File, Record: fault.Record, Offset: fault.Offset, Msg: fault.Msg})
	}
	for _, place := range places {
		if diff := cmp.Diff(places[0], place); diff != "" || place.File != names[damaged] || place.Record < 1 {
			t.Errorf("the place of the fault (-one thread +several)\n%s%+v", diff, place)
		}
	}
}
