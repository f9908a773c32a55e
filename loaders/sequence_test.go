package loaders_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"
	"millrace/tfrecord/example"

	"github.com/google/go-cmp/cmp"
)

// sequenceData is files of records of given lengths. Every position has its own number,
// counted through all files.
type sequenceData struct {
	files [][]int // lengths of the records of each file
	first []int64 // number of each file's first position
}

func newSequenceData(files [][]int) *sequenceData {
	d := &sequenceData{files: files}
	n := int64(0)
	for _, lengths := range files {
		d.first = append(d.first, n)
		for _, length := range lengths {
			n += int64(length)
		}
	}
	return d
}

// total returns the number of positions of a file.
func (d *sequenceData) total(file int) (n int64) {
	for _, length := range d.files[file] {
		n += int64(length)
	}
	return n
}

// write writes the data: "pos" are the numbers, "pair" each number and its
// negative.
func (d *sequenceData) write(t testing.TB, f *fixture.Dataset) {
	n := int64(0)
	for i, lengths := range d.files {
		var records [][]byte
		for _, length := range lengths {
			var pos, pair []example.Feature
			for range length {
				pos = append(pos, fixture.Ints(n))
				pair = append(pair, fixture.Floats(float32(n), -float32(n)))
				n++
			}
			records = append(records, example.MarshalSequence(nil, []example.NamedList{
				{Name: "pos", Features: pos}, {Name: "pair", Features: pair},
			}))
		}
		f.WriteRecords(t, fmt.Sprintf("%02d.tfrecords", i), records...)
	}
}

// newSequence returns a sequence dataset over the data, without windows.
func newSequence(t testing.TB, kind string, d *sequenceData) *fixture.Dataset {
	f := fixture.New(t)
	f.Type = kind
	f.Manifest["allow_var_len"] = true
	f.Manifest["features"] = []fixture.Object{
		{"name": "pos", "dtype": "int64", "shape": []int{}, "deserialize_type": "int", "var_len": true},
		{"name": "pair", "dtype": "float32", "shape": []int{2}, "deserialize_type": "float", "var_len": true},
	}
	f.Args["primary_features"] = []fixture.Object{
		{"from_name": "pair", "to_name": "pair"}, {"from_name": "pos", "to_name": "pos"},
	}
	f.Args["target_batch_size"] = 1
	d.write(t, f)
	return f
}

// openSequence opens a loader over a dataset with batches of one window.
func openSequence(t testing.TB, f *fixture.Dataset) *loaders.Loader {
	t.Helper()
	f.Save(t)
	l, err := loaders.Open(f.Config(), unoptimized(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// readWindows returns the positions of the first windows, or of all if limit is 0, and
// checks that their features agree.
func readWindows(t testing.TB, l *loaders.Loader, limit int) (windows [][]int64) {
	t.Helper()
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		windows = append(windows, windowOf(t, b))
		if len(windows) == limit {
			break
		}
	}
	return windows
}

func windowOf(t testing.TB, b *loaders.Batch) []int64 {
	t.Helper()
	pos, err := tfbridge.View[int64](b.Tensor("pos"))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tfbridge.View[float32](b.Tensor("pair"))
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range pos {
		if pair[2*i] != float32(n) || pair[2*i+1] != -float32(n) {
			t.Fatalf("position %d: pos is %d, pair %v", i, n, pair[2*i:2*i+2])
		}
	}
	return slices.Clone(pos)
}

// spanned is a window of a file, in units.
type spanned struct{ begin, end int64 }

// spans checks that each window is a sequence of consecutive positions of one file and
// returns the windows by file, in units.
func (d *sequenceData) spans(t testing.TB, kind string, windows [][]int64) [][]spanned {
	t.Helper()
	spans := make([][]spanned, len(d.files))
	for _, w := range windows {
		file := len(d.files) - 1
		for len(w) > 0 && d.first[file] > w[0] || d.total(file) == 0 {
			file--
		}
		for i := range w {
			if w[i] != w[0]+int64(i) {
				t.Fatalf("window %v: not a run of positions", w)
			}
		}
		begin, end := w[0]-d.first[file], w[0]-d.first[file]+int64(len(w))
		if end > d.total(file) {
			t.Fatalf("window %v crosses the end of file %d", w, file)
		}
		if kind == "discrete_sequence" {
			begin, end = d.record(t, file, begin), d.record(t, file, end)
		}
		spans[file] = append(spans[file], spanned{begin, end})
	}
	return spans
}

// record returns the ordinal of the record that begins at a position.
func (d *sequenceData) record(t testing.TB, file int, at int64) int64 {
	t.Helper()
	n := int64(0)
	for i, length := range d.files[file] {
		if n == at {
			return int64(i)
		}
		n += int64(length)
	}
	if n != at {
		t.Fatalf("position %d of file %d is within a record", at, file)
	}
	return int64(len(d.files[file]))
}

// window is a plan's rule for windows.
type window struct {
	kind             string
	min, max, stride int64
	tail             string
}

func (w window) set(f *fixture.Dataset) {
	f.Args["min_window"], f.Args["max_window"], f.Args["tail"] = w.min, w.max, w.tail
	if w.stride > 0 {
		f.Args["stride"] = w.stride
	}
}

// check checks the windows of one file with a number of units against the format's
// rules.
func (w window) check(units int64, spans []spanned) error {
	begin := int64(0)
	for i, s := range spans {
		size := s.end - s.begin
		cut := i == len(spans)-1 && s.end == units && w.tail == "keep"
		switch {
		case s.begin != begin:
			return fmt.Errorf("window %d begins at %d, want %d", i, s.begin, begin)
		case size < w.min || size > w.max:
			return fmt.Errorf("window %d is %v", i, s)
		case cut:
			return nil // the last one, which may be cut short
		}
		begin = s.end
		if w.stride > 0 {
			begin = s.begin + w.stride
		}
	}
	need := w.min
	if w.tail == "drop" {
		need = w.max
	}
	if units-begin >= need {
		return fmt.Errorf("%d of %d units are left over", units-begin, units)
	}
	return nil
}

// randomWindow returns a random rule for windows for which some of the files are long
// enough.
func randomWindow(r *rand.Rand, kind string) window {
	w := window{kind: kind, min: 1 + r.Int64N(6), tail: "keep"}
	w.max = w.min
	if r.IntN(3) > 0 {
		w.max += 1 + r.Int64N(8)
	}
	if kind == "continuous_sequence" && r.IntN(2) == 0 {
		w.stride = 1 + r.Int64N(12)
	}
	if r.IntN(4) == 0 {
		w.tail = "drop"
	}
	return w
}

func randomFiles(r *rand.Rand, kind string) (files [][]int) {
	low := 0
	if kind == "discrete_sequence" {
		low = 1 // positions then identify records
	}
	for range 1 + r.IntN(4) {
		var lengths []int
		for range r.IntN(30) {
			lengths = append(lengths, low+r.IntN(7))
		}
		files = append(files, lengths)
	}
	return append(files, []int{9, 9, 1, 2, 3, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1})
}

// TestWindowsFollowTheRules checks the windows of random plans, in chunks of
// several sizes, against the rules, and that the chunks make no difference.
func TestWindowsFollowTheRules(t *testing.T) {
	testruntime.Need(t)
	for seed := range uint64(12) {
		for _, kind := range []string{"continuous_sequence", "discrete_sequence"} {
			t.Run(fmt.Sprintf("%s/%d", kind, seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 1))
				data, w := newSequenceData(randomFiles(r, kind)), randomWindow(r, kind)
				f := newSequence(t, kind, data)
				f.Args["seed"] = seed
				w.set(f)
				l := openSequence(t, f)
				whole := readWindows(t, l, 0)
				for file, spans := range data.spans(t, kind, whole) {
					units := data.total(file)
					if kind == "discrete_sequence" {
						units = int64(len(data.files[file]))
					}
					if err := w.check(units, spans); err != nil {
						t.Errorf("%+v, file %d of records %v: %v", w, file, data.files[file], err)
					}
				}
				for _, chunk := range []int64{1, 2 + r.Int64N(5)} {
					l.SetChunk(chunk)
					got := readWindows(t, l, 0)
					if diff := cmp.Diff(whole, got); diff != "" {
						t.Errorf("%+v: chunks of %d records (-one chunk +chunks)\n%s", w, chunk, diff)
					}
				}
			})
		}
	}
}

// TestWindowsOfASeed checks that a seed gives the same windows with every parallelism,
// and that another seed, another epoch and another file of the same length give others.
func TestWindowsOfASeed(t *testing.T) {
	testruntime.Need(t)
	data := newSequenceData([][]int{{100, 100}, {100, 100}})
	read := func(epochs, seed, parallel int64) [][]int64 {
		f := newSequence(t, "continuous_sequence", data)
		window{min: 1, max: 9, tail: "keep"}.set(f)
		f.Args["epochs"], f.Args["seed"] = epochs, seed
		f.Args["num_parallel_reads"], f.Args["num_parallel_parses"] = parallel, parallel
		return readWindows(t, openSequence(t, f), 0)
	}
	sizes := func(windows [][]int64) (sizes []int) {
		for _, w := range windows[:20] {
			sizes = append(sizes, len(w))
		}
		return sizes
	}
	two := read(2, 5, 1)
	if diff := cmp.Diff(two, read(2, 5, 4)); diff != "" {
		t.Errorf("parallelism 1 and 4 (-1 +4)\n%s", diff)
	}
	one := read(1, 5, 1)
	if diff := cmp.Diff(one, two[:len(one)]); diff != "" {
		t.Errorf("the first epoch (-of one +of two)\n%s", diff)
	}
	if slices.Equal(sizes(one), sizes(two[len(one):])) {
		t.Error("both epochs have the same windows")
	}
	if slices.Equal(sizes(one), sizes(read(1, 6, 1))) {
		t.Error("two seeds give the same windows")
	}
	second := slices.IndexFunc(one, func(w []int64) bool { return w[0] == data.first[1] })
	if slices.Equal(sizes(one), sizes(one[second:])) {
		t.Error("both files have the same windows")
	}
}

// TestShuffledWindowsOfASeed checks that a seed gives the same order with every
// parallelism, over files that end at different times, and that the order differs from
// epoch to epoch.
func TestShuffledWindowsOfASeed(t *testing.T) {
	testruntime.Need(t)
	data := newSequenceData([][]int{{9, 9}, {30}, {}, {1, 2, 3}, {50, 1}, {4, 4, 4, 4}, {25}})
	read := func(parallel int64) [][]int64 {
		f := newSequence(t, "continuous_sequence", data)
		window{min: 1, max: 4, tail: "keep"}.set(f)
		shuffled(f)
		f.Args["target_batch_size"], f.Args["num_mix_files"] = 1, 3
		f.Args["num_parallel_reads"], f.Args["num_parallel_parses"] = parallel, parallel
		return readWindows(t, openSequence(t, f), 0)
	}
	one := read(1)
	if diff := cmp.Diff(one, read(3)); diff != "" {
		t.Errorf("parallelism 1 and 3 (-1 +3)\n%s", diff)
	}
	positions := slices.Concat(one...)
	half := positions[:len(positions)/2]
	if slices.Equal(half, positions[len(half):]) {
		t.Error("both epochs have the same order")
	}
	if slices.IsSorted(half) {
		t.Error("the first epoch is not shuffled")
	}
	for epoch, part := range [][]int64{half, positions[len(half):]} {
		sorted := slices.Sorted(slices.Values(part))
		if diff := cmp.Diff(count(int64(len(half))), sorted); diff != "" {
			t.Errorf("positions of epoch %d (-want +got)\n%s", epoch, diff)
		}
	}
}
