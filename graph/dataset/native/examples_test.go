package native_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/native"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// needLibrary skips a test if the library of native datasets was not built, or fails it
// if tests must not be skipped.
func needLibrary(t testing.TB) {
	t.Helper()
	path, err := native.Library()
	switch {
	case err != nil:
		t.Fatal(err)
	case path == "" && os.Getenv(testruntime.Env) == testruntime.Required:
		t.Fatal("no library of native datasets; type make native")
	case path == "":
		t.Skip("no library of native datasets; type make native")
	}
}

func TestGivesTheSameBatches(t *testing.T) {
	needLibrary(t)
	counts := []int64{7, 0, 13, 1}
	names := wideFiles(t, counts...)
	for _, n := range []int64{1, 4, 7, 21, 50} {
		for _, drop := range []bool{false, true} {
			for _, epochs := range []int64{1, 3} {
				t.Run(fmt.Sprintf("batch=%d/drop=%v/epochs=%d", n, drop, epochs), func(t *testing.T) {
					s := newScope(t)
					records := dataset.TFRecords(s, s.Const(names), nil).Repeat(epochs)
					want, err := bits(t, parsed(records.Batch(n, drop), wideFeatures()))
					if err != nil {
						t.Fatal(err)
					}
					o := &native.ExamplesOptions{BatchSize: n, Epochs: epochs, Drop: drop}
					for name, d := range map[string]*dataset.Dataset{
						"counted":     native.Examples(s, s.Const(names), s.Const(counts), wideFeatures(), o),
						"not counted": native.Examples(s, s.Const(names), s.Const([]int64{-1, -1, 13, 1}), wideFeatures(), o),
						"parsed":      native.Parse(records, n, wideFeatures(), &native.ParseOptions{Drop: drop}),
					} {
						got, err := bits(t, d)
						if err != nil {
							t.Fatalf("%s: %v", name, err)
						}
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("%s (-general +native)\n%s", name, diff)
						}
					}
				})
			}
		}
	}
}

// TestFaults reads the faulty files and compares each fault with the strict reader's:
// the class of the failure, the record and its offset.
func TestFaults(t *testing.T) {
	needLibrary(t)
	codes := map[string][]tfbridge.Code{
		"truncated": {tfbridge.DataLoss}, "corrupt": {tfbridge.DataLoss}, "limit": {tfbridge.ResourceExhausted, tfbridge.DataLoss},
	}
	for _, c := range corrupt.Cases() {
		if c.Compression != "" {
			continue
		}
		t.Run(c.Row+"/"+c.Name, func(t *testing.T) {
			path := writeFile(t, c.Data)
			d := nativeFiles(t, []string{path}, []int64{-1}, &native.ExamplesOptions{Epochs: 1})
			elements, err := tryAll(t, d)
			if c.Class == "" {
				if err != nil && c.Row != "C19" && c.Row != "C20" && c.Row != "C18" {
					t.Fatal(err)
				}
				return
			}
			if int64(len(elements)) != c.Good {
				t.Errorf("%d records before the fault, want %d", len(elements), c.Good)
			}
			var failed *tfbridge.Error
			if !errors.As(err, &failed) {
				t.Fatalf("got %v, want a failure of class %v", err, c.Class)
			}
			found := false
			for _, code := range codes[string(c.Class)] {
				found = found || failed.Code == code
			}
			if want, known := codes[string(c.Class)]; known && !found {
				t.Errorf("got code %v (%v), want one of %v", failed.Code, err, want)
			}
			if c.Record >= 0 {
				place := fmt.Sprintf("file %q: record %d (offset %d): ", path, c.Record, c.Offset)
				if !strings.Contains(failed.Msg, place) {
					t.Errorf("got %q, want it to say %q", failed.Msg, place)
				}
			}
		})
	}
}

// TestCuts cuts a file at every byte. If the records were counted, each cut is noticed;
// otherwise cuts between records are not.
func TestCuts(t *testing.T) {
	needLibrary(t)
	file := corrupt.File()
	s := newScope(t)
	path := writeFile(t, file)
	name := s.Placeholder(tfbridge.String, tfbridge.ScalarShape())
	d := native.Examples(s, graph.Reshape(s, name, s.Const([]int64{1})), s.Const([]int64{10}), corruptFeatures(),
		&native.ExamplesOptions{BatchSize: 20, Epochs: 1})
	it := d.Iterator("it")
	sess, err := tfbridge.NewSession(s.Graph(), &tfbridge.SessionOptions{QuickStart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	fed, err := tfbridge.NewTensor(path)
	if err != nil {
		t.Fatal(err)
	}
	defer fed.Close()
	for cut := len(file); cut >= 0; cut-- {
		if err := os.Truncate(path, int64(cut)); err != nil {
			t.Fatal(err)
		}
		if _, err := sess.Run(map[out]*tfbridge.Tensor{name: fed}, nil, []*tfbridge.Operation{it.Init}); err != nil {
			t.Fatal(err)
		}
		got, err := sess.Run(nil, it.Element, nil)
		for _, x := range got {
			x.Close()
		}
		want := tfbridge.DataLoss
		if cut%57 == 0 {
			want = tfbridge.FailedPrecondition
		}
		if cut == len(file) && err != nil || cut < len(file) && !errors.Is(err, want) {
			t.Fatalf("cut to %d bytes: got %v", cut, err)
		}
	}
}

func TestCounts(t *testing.T) {
	needLibrary(t)
	path := writeFile(t, corrupt.File())
	for _, n := range []int64{9, 11, 0} {
		for _, size := range []int64{1, 3, 5, 100} {
			for _, drop := range []bool{false, true} {
				o := &native.ExamplesOptions{BatchSize: size, Epochs: 1, Drop: drop}
				_, err := tryAll(t, nativeFiles(t, []string{path}, []int64{n}, o))
				if !errors.Is(err, tfbridge.FailedPrecondition) || !strings.Contains(err.Error(), "records were counted") {
					t.Errorf("counted %d, batches of %d, drop %v: got %v", n, size, drop, err)
				}
			}
		}
	}
}

func TestFiles(t *testing.T) {
	needLibrary(t)
	dir := t.TempDir()
	empty := writeFile(t, nil)
	for _, c := range []struct {
		name   string
		path   string
		epochs int64
		code   tfbridge.Code
	}{
		{"missing", filepath.Join(dir, "none"), 1, tfbridge.NotFound},
		{"directory", dir, 1, tfbridge.FailedPrecondition},
		{"nothing to repeat", empty, 0, tfbridge.FailedPrecondition},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tryAll(t, nativeFiles(t, []string{c.path}, []int64{-1}, &native.ExamplesOptions{Epochs: c.epochs}))
			if !errors.Is(err, c.code) {
				t.Errorf("got %v, want code %v", err, c.code)
			}
		})
	}
	if got := all(t, nativeFiles(t, []string{empty, empty}, []int64{0, -1}, &native.ExamplesOptions{Epochs: 3})); len(got) != 0 {
		t.Errorf("%d elements of empty files", len(got))
	}
}

// TestGraph writes datasets as graphs and imports these graphs again, as TensorFlow's
// optimiser does.
func TestGraph(t *testing.T) {
	needLibrary(t)
	s := newScope(t)
	names, lists := wideFiles(t, 5, 6), s.Const(listFiles(t, 5, 6))
	numbers := wideFeatures()[:1]
	for name, d := range map[string]*dataset.Dataset{
		"files":   native.Examples(s, s.Const(names), s.Const([]int64{5, -1}), wideFeatures(), &native.ExamplesOptions{BatchSize: 4, Epochs: 2}),
		"parsed":  native.Parse(dataset.TFRecords(s, s.Const(names), nil), 4, wideFeatures(), &native.ParseOptions{Drop: true}),
		"lists":   native.Sequences(s, lists, s.Const([]int64{5, 6}), paddedLists(s), &native.ExamplesOptions{BatchSize: 4, Epochs: 1}),
		"windows": native.Windows(s, s.Const(names), s.Const([]int64{5, 6}), numbers, &native.WindowsOptions{Min: 1, Max: 5, Seed: 1, Epochs: 1}),
	} {
		want, err := bits(t, d)
		if err != nil || len(want) == 0 {
			t.Fatalf("%s: %d elements, %v", name, len(want), err)
		}
		written := s.Op1("DatasetToGraphV2", map[string]any{"external_state_policy": int64(2)}, d.Variant())
		again := dataset.FromVariant(s, s.Op1("DatasetFromGraph", nil, written), d.Specs())
		for way, d := range map[string]*dataset.Dataset{"graph": again, "options": d.WithOptions(&dataset.Options{})} {
			got, err := bits(t, d)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, way, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s (-want +got)\n%s", name, way, diff)
			}
		}
	}
}

// TestConsumers reads one iterator from several goroutines: every record is returned
// once.
func TestConsumers(t *testing.T) {
	needLibrary(t)
	const epochs = 40
	path := writeFile(t, corrupt.File())
	d := nativeFiles(t, []string{path}, []int64{10}, &native.ExamplesOptions{BatchSize: 3, Epochs: epochs})
	it := d.Iterator("it")
	sess, err := tfbridge.NewSession(d.Scope().Graph(), &tfbridge.SessionOptions{QuickStart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var group sync.WaitGroup
	seen := map[int64]int{}
	for range 8 {
		group.Go(func() {
			for {
				element, err := sess.Run(nil, it.Element, nil)
				if err != nil {
					if !errors.Is(err, tfbridge.OutOfRange) {
						t.Error(err)
					}
					return
				}
				ids := element[0].Value().([]int64)
				mu.Lock()
				for _, id := range ids {
					seen[id]++
				}
				mu.Unlock()
				for _, x := range element {
					x.Close()
				}
			}
		})
	}
	group.Wait()
	for id := range int64(10) {
		if seen[id] != epochs {
			t.Errorf("record %d came %d times, want %d", id, seen[id], epochs)
		}
	}
}

// TestClose closes the session while an endless dataset is read.
func TestClose(t *testing.T) {
	needLibrary(t)
	path := writeFile(t, corrupt.File())
	closeInFlight(t, nativeFiles(t, []string{path}, []int64{10}, &native.ExamplesOptions{BatchSize: 1 << 22}).Prefetch(2))
}

// closeInFlight closes the session while an endless dataset is read.
func closeInFlight(t *testing.T, d *dataset.Dataset) {
	t.Helper()
	it := d.Iterator("it")
	sess, err := tfbridge.NewSession(d.Scope().Graph(), &tfbridge.SessionOptions{QuickStart: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
		t.Fatal(err)
	}
	started, failed := make(chan struct{}), make(chan error)
	go func() {
		close(started)
		for {
			element, err := sess.Run(nil, it.Element, nil)
			for _, x := range element {
				x.Close()
			}
			if err != nil {
				failed <- err
				return
			}
		}
	}()
	<-started
	if err := sess.Close(); err != nil {
		t.Error(err)
	}
	if err := <-failed; errors.Is(err, tfbridge.OutOfRange) {
		t.Errorf("closing looks like the end of the data: %v", err)
	}
}
