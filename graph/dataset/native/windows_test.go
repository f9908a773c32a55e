package native_test

import (
	"encoding/binary"
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

// sequenceFeatures are the features of [sequenceFile]: three positions a
// record.
func sequenceFeatures() []native.Feature {
	return []native.Feature{
		{Key: "n", Kind: native.Int, Shape: []int64{3}},
		{Key: "r", Kind: native.Raw, DType: tfbridge.Int16, Shape: []int64{3, 2}, BigEndian: true},
		{Key: "x", Kind: native.Float, Shape: []int64{3, 2}},
	}
}

// sequenceFile is a file of n records. Feature n of position p of file f has the value
// 1000*f+p; the other features have that value and the next.
func sequenceFile(f, n int) []byte {
	var records [][]byte
	for r := range n {
		var ints []int64
		var raw []byte
		var floats []float32
		for p := 3 * r; p < 3*r+3; p++ {
			v := 1000*f + p
			ints = append(ints, int64(v))
			raw = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(raw, uint16(v)), uint16(v+1))
			floats = append(floats, float32(v), float32(v+1))
		}
		records = append(records, example.Marshal([]example.Named{
			{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: floats}},
			{Name: "n", Feature: example.Feature{Kind: example.Int64, Ints: ints}},
			{Name: "r", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{raw}}},
		}))
	}
	return corrupt.Frame(records...)
}

// drawn returns the sizes of n windows as TensorFlow draws them.
func drawn(t *testing.T, o *native.WindowsOptions, epoch, file, n int) []int64 {
	t.Helper()
	s := newScope(t)
	counter := s.Const([]uint64{0, uint64(epoch)<<32 + uint64(file)})
	sizes := graph.StatelessRandomUniformIntAt(s, s.Const([]int64{int64(n)}), s.Const([]uint64{uint64(o.Seed)}),
		counter, s.Const(o.Min), s.Const(o.Max+1))
	sess, err := tfbridge.NewSession(s.Graph(), &tfbridge.SessionOptions{QuickStart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	got, err := sess.Run(nil, []out{sizes}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer got[0].Close()
	return got[0].Value().([]int64)
}

// windowsOf returns the windows of files of the given sizes, cut one by one. Each
// window is a list of positions.
func windowsOf(t *testing.T, o *native.WindowsOptions, units []int) (windows [][]int64) {
	t.Helper()
	least := int(o.Min)
	if o.PadTail {
		least = 1
	}
	for epoch := range int(o.Epochs) {
		for file, n := range units {
			sizes := drawn(t, o, epoch, file, n+1)
			for k, begin := 0, 0; n-begin >= least; k++ {
				size := int(sizes[k])
				tail := size > n-begin
				if tail && !o.KeepTail && !o.PadTail {
					break
				}
				var window []int64
				unit := 1
				if o.WholeRecords {
					unit = 3
				}
				for p := begin * unit; p < min(begin+size, n)*unit; p++ {
					window = append(window, int64(1000*file+p))
				}
				if tail && o.PadTail {
					window = append(window, make([]int64, size*unit-len(window))...)
				}
				windows = append(windows, window)
				if tail {
					break
				}
				if begin += size; o.Stride > 0 {
					begin += int(o.Stride) - size
				}
			}
		}
	}
	return windows
}

// cut returns the windows of a dataset by feature n, and checks the other features
// against it. Batches are split.
func cut(t *testing.T, elements [][]any) (windows [][]int64) {
	t.Helper()
	for _, element := range elements {
		one, ok := element[0].([]int64)
		ns, rs, xs := [][]int64{one}, [][][]int16{}, [][][]float32{}
		if ok {
			rs, xs = append(rs, element[1].([][]int16)), append(xs, element[2].([][]float32))
		} else {
			ns, rs, xs = element[0].([][]int64), element[1].([][][]int16), element[2].([][][]float32)
		}
		for i, n := range ns {
			for k, v := range n {
				if r, x := rs[i][k], xs[i][k]; v == 0 && r[1] == 0 && x[1] == 0 {
					continue // padding
				} else if r[0] != int16(v) || r[1] != int16(v+1) || x[0] != float32(v) || x[1] != float32(v+1) {
					t.Errorf("position %d: n %v, r %v, x %v", k, v, r, x)
				}
			}
			windows = append(windows, n)
		}
	}
	return windows
}

// sequenceCounts are the numbers of records in the files of the tests below. The last
// file but one is too short for most windows.
var sequenceCounts = []int64{11, 0, 1, 20}

func sequenceNames(t testing.TB) (names []string) {
	for f, n := range sequenceCounts {
		names = append(names, writeFile(t, sequenceFile(f, int(n))))
	}
	return names
}

func windowRules() []native.WindowsOptions {
	var rules []native.WindowsOptions
	for _, o := range []native.WindowsOptions{
		{Min: 1, Max: 1}, {Min: 3, Max: 3}, {Min: 4, Max: 4}, {Min: 7, Max: 7, Stride: 2}, {Min: 2, Max: 2, Stride: 11},
		{Min: 3, Max: 3, Stride: 3}, {Min: 100, Max: 100}, {Min: 33, Max: 33},
		{Min: 1, Max: 9, Seed: 7}, {Min: 3, Max: 20, Seed: 1 << 40}, {Min: 2, Max: 12, Seed: -5, Stride: 3}, {Min: 1, Max: 5, Stride: 8},
	} {
		for _, keep := range []bool{false, true} {
			for _, whole := range []bool{false, true} {
				o.KeepTail, o.WholeRecords, o.Epochs = keep, whole, 2
				rules = append(rules, o)
				if o.KeepTail = false; keep {
					o.PadTail = true
					rules = append(rules, o)
					o.PadTail = false
				}
			}
		}
	}
	return rules
}

func TestWindows(t *testing.T) {
	needLibrary(t)
	names := sequenceNames(t)
	for _, rule := range windowRules() {
		units := make([]int, len(sequenceCounts))
		for i, n := range sequenceCounts {
			units[i] = int(n)
			if !rule.WholeRecords {
				units[i] *= 3
			}
		}
		want := windowsOf(t, &rule, units)
		sizes := []int64{0}
		if rule.Min == rule.Max {
			sizes = []int64{0, 1, 4, 1000}
		}
		for _, size := range sizes {
			rule.BatchSize = size
			t.Run(fmt.Sprintf("%+v", rule), func(t *testing.T) {
				s := newScope(t)
				d := native.Windows(s, s.Const(names), s.Const(sequenceCounts), sequenceFeatures(), &rule)
				if diff := cmp.Diff(want, cut(t, tuples(all(t, d)))); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		}
	}
}

// Joined windows equal single windows, concatenated, with the start of each.
func TestJoinedWindows(t *testing.T) {
	needLibrary(t)
	names := sequenceNames(t)
	for _, rule := range windowRules() {
		if rule.Min == rule.Max && !rule.PadTail {
			continue // windows are stacked
		}
		one := newScope(t)
		single := cut(t, tuples(all(t, native.Windows(one, one.Const(names), one.Const(sequenceCounts), sequenceFeatures(), &rule))))
		rule.BatchSize, rule.Joined = 4, true
		s := newScope(t)
		unit := int64(1)
		if rule.WholeRecords {
			unit = 3
		}
		var got [][]int64
		for _, element := range all(t, native.Windows(s, s.Const(names), s.Const(sequenceCounts), sequenceFeatures(), &rule)) {
			parts := element.([]any)
			splits := parts[3].([]int64)
			joined := cut(t, [][]any{parts[:3]})[0]
			if n := splits[len(splits)-1] * unit; n != int64(len(joined)) || len(splits) > 5 {
				t.Errorf("%+v: splits %v of %d positions", rule, splits, len(joined))
			}
			for i, begin := range splits[:len(splits)-1] {
				got = append(got, joined[begin*unit:splits[i+1]*unit])
			}
		}
		if diff := cmp.Diff(single, got); diff != "" {
			t.Errorf("%+v (-one by one +joined)\n%s", rule, diff)
		}
	}
}

// tuples returns elements as their components.
func tuples(elements []any) (components [][]any) {
	for _, element := range elements {
		components = append(components, element.([]any))
	}
	return components
}

// TestWindowsOfOneFile numbers epoch and file as in a larger dataset. Without numbers
// they are the first.
func TestWindowsOfOneFile(t *testing.T) {
	needLibrary(t)
	names := sequenceNames(t)
	o := native.WindowsOptions{Min: 1, Max: 9, Seed: 3, KeepTail: true, Epochs: 3}
	s := newScope(t)
	want := all(t, native.Windows(s, s.Const(names), s.Const(sequenceCounts), sequenceFeatures(), &o))
	o.Epochs = 1
	var got []any
	for epoch := range int64(3) {
		for file, n := range sequenceCounts {
			s := newScope(t)
			o := o
			if epoch > 0 {
				o.FirstEpoch = s.Const(epoch)
			}
			if file > 0 {
				o.FirstFile = s.Const(int64(file))
			}
			d := native.Windows(s, s.Const(names[file:file+1]), s.Const([]int64{n}), sequenceFeatures(), &o)
			got = append(got, all(t, d)...)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-together +apart)\n%s", diff)
	}
}

func TestWindowsState(t *testing.T) {
	needLibrary(t)
	names := sequenceNames(t)
	for _, o := range []native.WindowsOptions{
		{Min: 4, Max: 4, BatchSize: 3}, {Min: 7, Max: 7, Stride: 2, BatchSize: 5}, {Min: 2, Max: 12, Stride: 4, KeepTail: true},
		{Min: 3, Max: 20, Seed: 9, KeepTail: true}, {Min: 1, Max: 2, Stride: 8}, {Min: 2, Max: 4, WholeRecords: true},
	} {
		o.Epochs = 2
		t.Run(fmt.Sprintf("%+v", o), func(t *testing.T) {
			build := func(string) (*graph.Scope, *dataset.Iterator) {
				s := newScope(t)
				return s, native.Windows(s, s.Const(names), s.Const(sequenceCounts), sequenceFeatures(), &o).Iterator("it")
			}
			var states [][]byte
			want := drain(t, build, "", nil, &states)
			for i, state := range states {
				if diff := cmp.Diff(want[i:], drain(t, build, "", state, nil)); diff != "" {
					t.Errorf("restored before element %d (-want +got)\n%s", i, diff)
				}
			}
		})
	}
}

func TestWindowsFaults(t *testing.T) {
	needLibrary(t)
	file := sequenceFile(0, 10)
	none := sequenceFile(0, 2)
	size := len(file) / 10
	for _, c := range []struct {
		name   string
		data   []byte
		count  int64
		epochs int64
		code   tfbridge.Code
	}{
		{"counted fewer", file, 9, 1, tfbridge.FailedPrecondition},
		{"counted more", file, 11, 1, tfbridge.FailedPrecondition},
		{"cut between records", file[:9*size], 10, 1, tfbridge.FailedPrecondition},
		{"cut in a record", file[:len(file)-5], 10, 1, tfbridge.DataLoss},
		{"flipped", corrupt.Flip(file, 8*(3*size+20)), 10, 1, tfbridge.DataLoss},
		{"flipped in what is left over", corrupt.Flip(file, 8*(len(file)-8)), 10, 1, tfbridge.DataLoss},
		{"other features", corrupt.Frame(corrupt.Example(1)), 1, 1, tfbridge.InvalidArgument},
		{"too short to repeat", none, 2, 0, tfbridge.FailedPrecondition},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScope(t)
			names := s.Const([]string{writeFile(t, c.data)})
			o := &native.WindowsOptions{Min: 7, Max: 7, BatchSize: 2, Epochs: c.epochs}
			d := native.Windows(s, names, s.Const([]int64{c.count}), sequenceFeatures(), o)
			if _, err := tryAll(t, d); !errors.Is(err, c.code) {
				t.Errorf("got %v, want code %v", err, c.code)
			}
		})
	}
}

// TestWindowsLarge reads records so large that their values are read directly to their
// final memory. The layout changes, and changes back.
func TestWindowsLarge(t *testing.T) {
	needLibrary(t)
	const row, records = 4096, 12
	var file [][]byte
	for r := range records {
		floats := make([]float32, 3*row)
		for i := range floats {
			floats[i] = float32(3*row*r + i)
		}
		features := []example.Named{{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: floats}}}
		if r == 5 {
			features = append(features, example.Named{Name: "other", Feature: example.Feature{Kind: example.Int64, Ints: []int64{1}}})
		}
		file = append(file, example.Marshal(features))
	}
	s := newScope(t)
	names := s.Const([]string{writeFile(t, corrupt.Frame(file...))})
	features := []native.Feature{{Key: "x", Kind: native.Float, Shape: []int64{3, row}}}
	o := &native.WindowsOptions{Min: 7, Max: 7, BatchSize: 2, Epochs: 1}
	next := float32(0)
	for element, err := range native.Windows(s, names, s.Const([]int64{records}), features, o).All(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		floats, err := tfbridge.View[float32](element[0])
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range floats {
			if v != next {
				t.Fatalf("value %d of the batch is %v, want %v", i, v, next)
			}
			next++
		}
	}
	if want := float32(3 * records / 7 * 7 * row); next != want {
		t.Errorf("%v values, want %v", next, want)
	}
}
