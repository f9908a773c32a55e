package native_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/internal/test/corrupt"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

const (
	largeRecords   = 40 // records per file
	largePositions = 3  // positions per record
	largeRow       = 2048
)

// largeFile is a file of records so large that several threads read them. The records
// from index other on have another layout.
func largeFile(f, other int) []byte {
	var records [][]byte
	for r := range largeRecords {
		floats := make([]float32, largePositions*largeRow)
		for i := range floats {
			floats[i] = float32(f*100_000 + r*1000 + i%777)
		}
		features := []example.Named{{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: floats}}}
		if r >= other {
			features = append(features, example.Named{Name: "other", Feature: example.Feature{Kind: example.Int64, Ints: []int64{1}}})
		}
		records = append(records, example.Marshal(features))
	}
	return corrupt.Frame(records...)
}

// largeWindows are windows of such files.
func largeWindows(t *testing.T, names []string, o native.WindowsOptions, threads int64) *dataset.Dataset {
	t.Helper()
	counts := make([]int64, len(names))
	for i := range counts {
		counts[i] = largeRecords
	}
	o.Threads = threads
	s := newScope(t)
	features := []native.Feature{{Key: "x", Kind: native.Float, Shape: []int64{largePositions, largeRow}}}
	return native.Windows(s, s.Const(names), s.Const(counts), features, &o)
}

func TestWindowsThreads(t *testing.T) {
	needLibrary(t)
	names := []string{writeFile(t, largeFile(0, largeRecords)), writeFile(t, largeFile(1, 17)), writeFile(t, largeFile(2, largeRecords))}
	for _, o := range []native.WindowsOptions{
		{Min: 3, Max: 3, BatchSize: 16, Epochs: 2}, {Min: 7, Max: 7, BatchSize: 9, Epochs: 2}, {Min: 60, Max: 60, Epochs: 1, KeepTail: true},
		{Min: 20, Max: 90, Epochs: 1}, {Min: 30, Max: 30, Stride: 33, Epochs: 1}, {Min: 10, Max: 10, WholeRecords: true, Epochs: 1},
	} {
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			want, err := bits(t, largeWindows(t, names, o, 1))
			if err != nil {
				t.Fatal(err)
			}
			for _, threads := range []int64{2, 8} {
				got, err := bits(t, largeWindows(t, names, o, threads))
				if err != nil {
					t.Fatal(err)
				}
				if !cmp.Equal(want, got) {
					t.Errorf("%d threads give other windows than one", threads)
				}
			}
		})
	}
}

// TestWindowsThreadsFaults damages a record that is read together with others: the
// error names this record, and all records before it are delivered.
func TestWindowsThreadsFaults(t *testing.T) {
	needLibrary(t)
	file := largeFile(0, largeRecords)
	size := len(file) / largeRecords
	o := native.WindowsOptions{Min: 3, Max: 3, BatchSize: 16, Epochs: 1}
	for _, record := range []int{0, 3, 15, 16, 25, 39} {
		for name, data := range map[string][]byte{
			"header":   corrupt.Flip(file, 8*(record*size+3)),
			"key":      corrupt.Flip(file, 8*(record*size+20)),
			"value":    corrupt.Flip(file, 8*(record*size+size/2)),
			"checksum": corrupt.Flip(file, 8*(record*size+size-1)),
			"cut":      file[:record*size+size/2],
		} {
			t.Run(fmt.Sprintf("%s/%d", name, record), func(t *testing.T) {
				names := []string{writeFile(t, data)}
				want, one := bits(t, largeWindows(t, names, o, 1))
				got, many := bits(t, largeWindows(t, names, o, 8))
				if !errors.Is(many, tfbridge.DataLoss) || one == nil || one.Error() != many.Error() {
					t.Errorf("one thread: %v\nmany: %v", one, many)
				}
				if len(got) != record/16 || !cmp.Equal(want, got) {
					t.Errorf("%d batches before the fault, %d with one thread, want %d", len(got), len(want), record/16)
				}
			})
		}
	}
}

func TestWindowsThreadsState(t *testing.T) {
	needLibrary(t)
	names := []string{writeFile(t, largeFile(0, largeRecords)), writeFile(t, largeFile(1, 23))}
	build := func(threads int64) func(string) (*graph.Scope, *dataset.Iterator) {
		return func(string) (*graph.Scope, *dataset.Iterator) {
			d := largeWindows(t, names, native.WindowsOptions{Min: 4, Max: 4, BatchSize: 11, Epochs: 1}, threads).Prefetch(2)
			return d.Scope(), d.Iterator("it")
		}
	}
	var states [][]byte
	want := drain(t, build(4), "", nil, &states)
	for i, state := range states {
		for _, threads := range []int64{1, 4} {
			if !cmp.Equal(want[i:], drain(t, build(threads), "", state, nil)) {
				t.Errorf("restored before element %d with %d threads: other elements", i, threads)
			}
		}
	}
}

// TestWindowsThreadsClose closes the session while threads read an endless dataset of
// windows.
func TestWindowsThreadsClose(t *testing.T) {
	needLibrary(t)
	names := []string{writeFile(t, largeFile(0, largeRecords))}
	for range 5 {
		closeInFlight(t, largeWindows(t, names, native.WindowsOptions{Min: 3, Max: 3, BatchSize: 32}, 8).Prefetch(2))
	}
}
