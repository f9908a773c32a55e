package dataset_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/internal/corrupt"
	"millrace/internal/testruntime"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// needNative skips a test where the library of native datasets was not built,
// and fails it where nothing may be skipped.
func needNative(t testing.TB) {
	t.Helper()
	path, err := dataset.Native()
	switch {
	case err != nil:
		t.Fatal(err)
	case path == "" && os.Getenv(testruntime.Env) == testruntime.Required:
		t.Fatal("no library of native datasets; type make native")
	case path == "":
		t.Skip("no library of native datasets; type make native")
	}
}

// corruptFeatures are the features of [corrupt.Example].
func corruptFeatures() []dataset.NativeFeature {
	return []dataset.NativeFeature{
		{Key: "id", Kind: dataset.NativeInt},
		{Key: "vals", Kind: dataset.NativeFloat, Shape: []int64{3}},
	}
}

// writeFile writes a file and returns its path.
func writeFile(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.tfrecords")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// nativeFiles reads files of the Examples of package corrupt.
func nativeFiles(t testing.TB, names []string, counts []int64, o *dataset.NativeExamplesOptions) *dataset.Dataset {
	s := newScope(t)
	return dataset.NativeExamples(s, s.Const(names), s.Const(counts), corruptFeatures(), o)
}

// wideFeatures is a feature of every kind and how TensorFlow decodes it.
func wideFeatures() []dataset.NativeFeature {
	return []dataset.NativeFeature{
		{Key: "b", Kind: dataset.NativeRaw, DType: tfbridge.Int16, Shape: []int64{2, 3}, Strings: 2, BigEndian: true},
		{Key: "c", Kind: dataset.NativeRaw, DType: tfbridge.Complex64, Shape: []int64{1}, BigEndian: true},
		{Key: "f", Kind: dataset.NativeFloat, Shape: []int64{2, 2}},
		{Key: "i", Kind: dataset.NativeInt},
		{Key: "l", Kind: dataset.NativeRaw, DType: tfbridge.Double, Shape: nil},
		{Key: "s", Kind: dataset.NativeBytes, Shape: []int64{2}},
	}
}

// wideRecord is a record with the features above, another one between them.
func wideRecord(r *rand.Rand) []byte {
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	list := []example.Named{
		{Name: "b", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{random(6), random(6)}}},
		{Name: "c", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{random(8)}}},
		{Name: "f", Feature: example.Feature{Kind: example.Float, Floats: []float32{
			math.Float32frombits(r.Uint32()), r.Float32(), float32(math.Inf(1)), 0}}},
		{Name: "i", Feature: example.Feature{Kind: example.Int64, Ints: []int64{int64(r.Uint64()) >> r.IntN(64)}}},
		{Name: "l", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{random(8)}}},
		{Name: "other", Feature: example.Feature{Kind: example.Int64, Ints: []int64{1, 2, 3}}},
		{Name: "s", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{random(r.IntN(40)), nil}}},
	}
	r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return example.Marshal(list)
}

// parsed decodes batches of serialized Examples with TensorFlow's operations.
func parsed(d *dataset.Dataset, features []dataset.NativeFeature) *dataset.Dataset {
	return d.Map("parse", func(s *graph.Scope, args []out) []out {
		wanted := &graph.ExampleFeatures{}
		for _, f := range features {
			dense := graph.DenseFeature{Key: f.Key, DType: tfbridge.String, Shape: tfbridge.MakeShape(f.Shape...)}
			switch {
			case f.Kind == dataset.NativeInt:
				dense.DType = tfbridge.Int64
			case f.Kind == dataset.NativeFloat:
				dense.DType = tfbridge.Float
			case f.Kind == dataset.NativeRaw && f.Strings > 1:
				dense.Shape = tfbridge.MakeShape(f.Strings)
			case f.Kind == dataset.NativeRaw:
				dense.Shape = tfbridge.ScalarShape()
			}
			wanted.Dense = append(wanted.Dense, dense)
		}
		values := graph.ParseExampleV2(s, args[0], wanted).Dense
		for i, f := range features {
			if f.Kind == dataset.NativeRaw {
				flat := graph.DecodeRaw(s, values[i], f.DType, &graph.DecodeRawOptions{BigEndian: f.BigEndian})
				shape := append([]int64{}, f.Shape...)
				rows := graph.Subscript(s, graph.Shape(s, args[0]), graph.Until(1))
				values[i] = graph.Reshape(s, flat, graph.ConcatV2(s, outs{rows, s.Const(shape)}, 0))
			}
		}
		return values
	}, nil)
}

// bits returns the elements of a dataset in a form that compares bits.
func bits(t testing.TB, d *dataset.Dataset) ([]string, error) {
	t.Helper()
	var elements []string
	for element, err := range d.All(t.Context(), nil) {
		if err != nil {
			return elements, err
		}
		var b bytes.Buffer
		for _, x := range element {
			fmt.Fprintf(&b, "%v%v ", x.DataType(), x.Shape())
			if x.DataType() == tfbridge.String {
				fmt.Fprintf(&b, "%q ", x.Value())
				continue
			}
			raw, err := x.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%x ", raw)
		}
		elements = append(elements, b.String())
	}
	return elements, nil
}

// wideFiles writes files of such records and returns them with their counts.
func wideFiles(t testing.TB, sizes ...int64) (names []string) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range sizes {
		records := make([][]byte, n)
		for i := range records {
			records[i] = wideRecord(r)
		}
		names = append(names, writeFile(t, corrupt.Frame(records...)))
	}
	return names
}

func TestNativeGivesTheSameBatches(t *testing.T) {
	needNative(t)
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
					o := &dataset.NativeExamplesOptions{BatchSize: n, Epochs: epochs, Drop: drop}
					for name, d := range map[string]*dataset.Dataset{
						"counted":     dataset.NativeExamples(s, s.Const(names), s.Const(counts), wideFeatures(), o),
						"not counted": dataset.NativeExamples(s, s.Const(names), s.Const([]int64{-1, -1, 13, 1}), wideFeatures(), o),
						"parsed":      records.NativeParse(n, wideFeatures(), drop),
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

// TestNativeFaults reads the faulty files and finds in each what the strict
// reader finds: the class of the failure, the record and its offset.
func TestNativeFaults(t *testing.T) {
	needNative(t)
	codes := map[string][]tfbridge.Code{
		"truncated": {tfbridge.DataLoss}, "corrupt": {tfbridge.DataLoss}, "limit": {tfbridge.ResourceExhausted, tfbridge.DataLoss},
	}
	for _, c := range corrupt.Cases() {
		if c.Compression != "" {
			continue
		}
		t.Run(c.Row+"/"+c.Name, func(t *testing.T) {
			path := writeFile(t, c.Data)
			d := nativeFiles(t, []string{path}, []int64{-1}, &dataset.NativeExamplesOptions{Epochs: 1})
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

// TestNativeCuts cuts a file at every byte: none of the cuts goes unseen when
// the records were counted, and those between records only then.
func TestNativeCuts(t *testing.T) {
	needNative(t)
	file := corrupt.File()
	s := newScope(t)
	path := writeFile(t, file)
	name := s.Placeholder(tfbridge.String, tfbridge.ScalarShape())
	d := dataset.NativeExamples(s, graph.Reshape(s, name, s.Const([]int64{1})), s.Const([]int64{10}), corruptFeatures(),
		&dataset.NativeExamplesOptions{BatchSize: 20, Epochs: 1})
	it := d.Iterator("it")
	sess, err := tfbridge.NewSession(s.Graph(), nil)
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
		got, err := sess.Run(nil, it.Next, nil)
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

func TestNativeCounts(t *testing.T) {
	needNative(t)
	path := writeFile(t, corrupt.File())
	for _, n := range []int64{9, 11, 0} {
		for _, size := range []int64{1, 3, 5, 100} {
			for _, drop := range []bool{false, true} {
				o := &dataset.NativeExamplesOptions{BatchSize: size, Epochs: 1, Drop: drop}
				_, err := tryAll(t, nativeFiles(t, []string{path}, []int64{n}, o))
				if !errors.Is(err, tfbridge.FailedPrecondition) || !strings.Contains(err.Error(), "records were counted") {
					t.Errorf("counted %d, batches of %d, drop %v: got %v", n, size, drop, err)
				}
			}
		}
	}
}

func TestNativeFiles(t *testing.T) {
	needNative(t)
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
			_, err := tryAll(t, nativeFiles(t, []string{c.path}, []int64{-1}, &dataset.NativeExamplesOptions{Epochs: c.epochs}))
			if !errors.Is(err, c.code) {
				t.Errorf("got %v, want code %v", err, c.code)
			}
		})
	}
	if got := all(t, nativeFiles(t, []string{empty, empty}, []int64{0, -1}, &dataset.NativeExamplesOptions{Epochs: 3})); len(got) != 0 {
		t.Errorf("%d elements of empty files", len(got))
	}
}

// TestNativeFailsAgain asks again after a failure.
func TestNativeFailsAgain(t *testing.T) {
	needNative(t)
	path := writeFile(t, corrupt.Flip(corrupt.File(), 300*8))
	s := newScope(t)
	source := dataset.TFRecords(s, s.Const(writeFile(t, corrupt.Frame(corrupt.Example(1), nil, corrupt.Example(2)))), nil)
	native := dataset.NativeExamples(s, s.Const([]string{path}), s.Const([]int64{10}), corruptFeatures(), &dataset.NativeExamplesOptions{Epochs: 1})
	for name, d := range map[string]*dataset.Dataset{"files": native, "parsed": source.NativeParse(1, corruptFeatures(), false)} {
		it := d.Iterator(name)
		sess, err := tfbridge.NewSession(s.Graph(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer sess.Close()
		if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
			t.Fatal(err)
		}
		failures := map[string]bool{}
		for range 12 {
			element, err := sess.Run(nil, it.Next, nil)
			for _, x := range element {
				x.Close()
			}
			if err != nil {
				failures[err.Error()] = true
			} else if len(failures) > 0 {
				t.Errorf("%s: an element after a failure", name)
			}
		}
		if len(failures) != 1 {
			t.Errorf("%s: failures %v, want one", name, failures)
		}
	}
}

// TestNativeState saves before every element and goes on from there in a new
// session.
func TestNativeState(t *testing.T) {
	needNative(t)
	names, lists := wideFiles(t, 5, 0, 6), listFiles(t, 5, 0, 6)
	build := func(kind string) (*graph.Scope, *dataset.Iterator) {
		s := newScope(t)
		if kind == "parsed" {
			d := dataset.TFRecords(s, s.Const(names), nil).Shuffle(5, &dataset.ShuffleOptions{Seed: 1, Seed2: 2}).Repeat(2)
			return s, d.NativeParse(4, wideFeatures(), false).Iterator("it")
		}
		o := &dataset.NativeExamplesOptions{BatchSize: 4, Epochs: 2}
		if kind == "lists" {
			return s, dataset.NativeSequences(s, s.Const(lists), s.Const([]int64{5, 0, 6}), paddedLists(s), o).Iterator("it")
		}
		d := dataset.NativeExamples(s, s.Const(names), s.Const([]int64{5, 0, 6}), wideFeatures(), o)
		if kind == "prefetched" {
			d = d.Prefetch(2)
		}
		return s, d.Iterator("it")
	}
	for _, kind := range []string{"files", "prefetched", "parsed", "lists"} {
		t.Run(kind, func(t *testing.T) {
			var states [][]byte
			want := drain(t, build, kind, nil, &states)
			if len(want) != 6 || len(states) != 7 {
				t.Fatalf("%d elements, %d states", len(want), len(states))
			}
			for i, state := range states {
				if diff := cmp.Diff(want[i:], drain(t, build, kind, state, nil)); diff != "" {
					t.Errorf("restored before element %d (-want +got)\n%s", i, diff)
				}
			}
		})
	}
}

// drain returns the elements of an iterator from a state on, and the states
// before each.
func drain(t *testing.T, build func(string) (*graph.Scope, *dataset.Iterator), kind string, state []byte, states *[][]byte) []string {
	t.Helper()
	s, it := build(kind)
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{it.Init}); err != nil {
		t.Fatal(err)
	}
	if state != nil {
		if err := it.RestoreState(t.Context(), sess, state); err != nil {
			t.Fatal(err)
		}
	}
	elements := []string{}
	for {
		if states != nil {
			saved, err := it.SaveState(t.Context(), sess)
			if err != nil {
				t.Fatal(err)
			}
			*states = append(*states, saved)
		}
		element, err := sess.Run(nil, it.Next, nil)
		if errors.Is(err, tfbridge.OutOfRange) {
			return elements
		}
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, x := range element {
			text += fmt.Sprintf("%q ", fmt.Sprint(x.Value()))
			x.Close()
		}
		elements = append(elements, text)
	}
}

// TestNativeGraph writes datasets as graphs and makes them from those again, as
// TensorFlow's optimiser does.
func TestNativeGraph(t *testing.T) {
	needNative(t)
	s := newScope(t)
	names, lists := wideFiles(t, 5, 6), s.Const(listFiles(t, 5, 6))
	numbers := wideFeatures()[:1]
	for name, d := range map[string]*dataset.Dataset{
		"files":   dataset.NativeExamples(s, s.Const(names), s.Const([]int64{5, -1}), wideFeatures(), &dataset.NativeExamplesOptions{BatchSize: 4, Epochs: 2}),
		"parsed":  dataset.TFRecords(s, s.Const(names), nil).NativeParse(4, wideFeatures(), true),
		"lists":   dataset.NativeSequences(s, lists, s.Const([]int64{5, 6}), paddedLists(s), &dataset.NativeExamplesOptions{BatchSize: 4, Epochs: 1}),
		"windows": dataset.NativeWindows(s, s.Const(names), s.Const([]int64{5, 6}), numbers, &dataset.NativeWindowsOptions{Min: 1, Max: 5, Seed: 1, Epochs: 1}),
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

// TestNativeConsumers reads one iterator from several goroutines: every record
// comes once.
func TestNativeConsumers(t *testing.T) {
	needNative(t)
	const epochs = 40
	path := writeFile(t, corrupt.File())
	d := nativeFiles(t, []string{path}, []int64{10}, &dataset.NativeExamplesOptions{BatchSize: 3, Epochs: epochs})
	it := d.Iterator("it")
	sess, err := tfbridge.NewSession(d.Scope().Graph(), nil)
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
				element, err := sess.Run(nil, it.Next, nil)
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

// TestNativeClose closes the session while batches without end are read.
func TestNativeClose(t *testing.T) {
	needNative(t)
	path := writeFile(t, corrupt.File())
	closeInFlight(t, nativeFiles(t, []string{path}, []int64{10}, &dataset.NativeExamplesOptions{BatchSize: 1 << 22}).Prefetch(2))
}

// closeInFlight closes the session while elements of a dataset without end are
// read.
func closeInFlight(t *testing.T, d *dataset.Dataset) {
	t.Helper()
	it := d.Iterator("it")
	sess, err := tfbridge.NewSession(d.Scope().Graph(), nil)
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
			element, err := sess.Run(nil, it.Next, nil)
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

// TestNativeAgreesOnOddRecords mutates records: the native decoder accepts what
// TensorFlow's parser accepts, with the same values.
func TestNativeAgreesOnOddRecords(t *testing.T) {
	needNative(t)
	const rounds = 500
	features := corruptFeatures()
	s := newScope(t)
	record := s.Placeholder(tfbridge.String, tfbridge.ScalarShape())
	wanted := &graph.ExampleFeatures{Dense: []graph.DenseFeature{
		{Key: "id", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()},
		{Key: "vals", DType: tfbridge.Float, Shape: tfbridge.MakeShape(3)},
	}}
	general := graph.ParseExampleV2(s, graph.ExpandDims(s, record, 0), wanted).Dense
	it := dataset.FromTensors(s, record).NativeParse(1, features, false).Iterator("it")
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	r := rand.New(rand.NewPCG(3, 4))
	accepted := 0
	for i := range rounds {
		data := mutated(r, corrupt.Example(i%128))
		fed, err := tfbridge.NewStringTensor(nil, [][]byte{data})
		if err != nil {
			t.Fatal(err)
		}
		feeds := map[out]*tfbridge.Tensor{record: fed}
		want, wantErr := sess.Run(feeds, general, nil)
		if _, err := sess.Run(feeds, nil, []*tfbridge.Operation{it.Init}); err != nil {
			t.Fatal(err)
		}
		got, gotErr := sess.Run(nil, it.Next, nil)
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("record %x: TensorFlow says %v, native %v", data, wantErr, gotErr)
		}
		if gotErr != nil && !errors.Is(gotErr, tfbridge.InvalidArgument) {
			t.Fatalf("record %x: got %v", data, gotErr)
		}
		for k := range want {
			a, _ := want[k].Bytes()
			b, _ := got[k].Bytes()
			if !bytes.Equal(a, b) {
				t.Fatalf("record %x, component %d: TensorFlow %x, native %x", data, k, a, b)
			}
		}
		if wantErr == nil {
			accepted++
		}
		for _, x := range append(append(want, got...), fed) {
			x.Close()
		}
	}
	if accepted < rounds/20 || accepted > rounds*19/20 {
		t.Errorf("%d of %d records are accepted; the mutations test little", accepted, rounds)
	}
}

// mutated changes a record in one place or a few. It keeps clear of what makes
// TensorFlow write behind its memory: longer lists of unpacked floats.
func mutated(r *rand.Rand, data []byte) []byte {
	if r.IntN(4) == 0 { // features of several messages
		data = append(append([]byte{}, data...), corrupt.Example(r.IntN(128))...)
	}
	data = append([]byte{}, data...)
	for range 1 + r.IntN(2) {
		at := r.IntN(len(data))
		switch r.IntN(7) {
		case 0:
			data[at] ^= 1 << r.IntN(8)
		case 1:
			data[at] = byte(r.Uint32())
		case 2:
			data[at] += byte(r.IntN(5)) - 2
		case 3:
			data = append(data[:at], append([]byte{byte(r.Uint32())}, data[at:]...)...)
		case 4:
			data = append(data[:at], data[at+1:]...)
		case 5:
			data = data[:at]
		case 6:
			data = append(data, byte(r.IntN(64)), byte(r.Uint32()))
		}
		if len(data) == 0 {
			break
		}
	}
	return data
}
