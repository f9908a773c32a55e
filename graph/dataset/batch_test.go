package dataset_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

func TestBatch(t *testing.T) {
	s := newScope(t)
	d := dataset.Range(s, 0, 5, 1)
	if diff := cmp.Diff([]any{[]int64{0, 1}, []int64{2, 3}, []int64{4}}, all(t, d.Batch(2, false))); diff != "" {
		t.Errorf("batches (-want +got)\n%s", diff)
	}
	checkSpecs(t, d.Batch(2, false), "int64[?]")
	if diff := cmp.Diff([]any{[]int64{0, 1}, []int64{2, 3}}, all(t, d.Batch(2, true))); diff != "" {
		t.Errorf("whole batches (-want +got)\n%s", diff)
	}
	checkSpecs(t, d.Batch(2, true), "int64[2]")
	if diff := cmp.Diff(values(0, 1, 2, 3, 4), all(t, d.Batch(2, false).Unbatch())); diff != "" {
		t.Errorf("unbatched (-want +got)\n%s", diff)
	}
}

// Unbatch yields slices without elements, whether their size of zero is static or not.
func TestUnbatchNothing(t *testing.T) {
	s := newScope(t)
	tests := []struct {
		name  string
		known bool
		dims  []int64
		want  int // number of slices of the five elements
		op    string
	}{
		{"known", true, []int64{2, 0}, 10, "FlatMapDataset"},
		{"not known", false, []int64{2, 0}, 10, "FlatMapDataset"},
		{"none", true, []int64{0, 3}, 0, "UnbatchDataset"},
		{"some", true, []int64{2, 3}, 10, "UnbatchDataset"},
		{"some, not known", false, []int64{2, 3}, 10, "FlatMapDataset"},
	}
	for _, tt := range tests {
		for _, dt := range []tfbridge.DataType{tfbridge.Float, tfbridge.String} {
			t.Run(tt.name+" "+dt.String(), func(t *testing.T) {
				d := nothings(s, dt, tt.known, tt.dims...).Unbatch()
				n := 0
				for element, err := range d.All(t.Context(), nil) {
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(tt.dims[1:], element[0].Shape()); diff != "" || element[0].DataType() != dt {
						t.Errorf("slice %d of %v (-want +got)\n%s", n, element[0].DataType(), diff)
					}
					n++
				}
				if n != tt.want {
					t.Errorf("%d slices, want %d", n, tt.want)
				}
				if op := d.Variant().Op.Type(); dt != tfbridge.String && op != tt.op {
					t.Errorf("made by %s, want %s", op, tt.op)
				}
			})
		}
	}
}

// ragged yields [], [1], [1 1], [1 1 1], each with its length as a string.
func ragged(s *graph.Scope) *dataset.Dataset {
	return dataset.Range(s, 0, 4, 1).Map("fill", func(s *graph.Scope, args outs) outs {
		return outs{graph.Fill(s, graph.ExpandDims(s, args[0], 0), s.Const(float32(1))), graph.AsString(s, args[0])}
	}, nil)
}

func TestPaddedBatch(t *testing.T) {
	s := newScope(t)
	tests := []struct {
		name  string
		n     int64
		o     *dataset.PaddedBatchOptions
		want  []any
		specs []string
	}{
		{"longest", 3, nil, []any{
			[]any{[][]float32{{0, 0}, {1, 0}, {1, 1}}, []string{"0", "1", "2"}},
			[]any{[][]float32{{1, 1, 1}}, []string{"3"}},
		}, []string{"float32[?, ?]", "string[?]"}},
		{"drop", 3, &dataset.PaddedBatchOptions{Drop: true}, []any{
			[]any{[][]float32{{0, 0}, {1, 0}, {1, 1}}, []string{"0", "1", "2"}},
		}, []string{"float32[3, ?]", "string[3]"}},
		{"fixed", 4, &dataset.PaddedBatchOptions{Shapes: [][]int64{{3}, nil}, Values: outs{s.Const(float32(-1)), {}}}, []any{
			[]any{[][]float32{{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {1, 1, 1}}, []string{"0", "1", "2", "3"}},
		}, []string{"float32[?, 3]", "string[?]"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := ragged(s).PaddedBatch(tt.n, tt.o)
			if diff := cmp.Diff(tt.want, all(t, d)); diff != "" {
				t.Errorf("batches (-want +got)\n%s", diff)
			}
			checkSpecs(t, d, tt.specs...)
		})
	}
	if _, err := tryAll(t, ragged(s).PaddedBatch(4, &dataset.PaddedBatchOptions{Shapes: [][]int64{{2}, {}}})); !errors.Is(err, tfbridge.DataLoss) {
		t.Errorf("an element larger than its padding: %v", err)
	}
	if _, err := tryAll(t, ragged(s).Batch(2, false)); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("a batch of different shapes: %v", err)
	}
}

func TestPaddedBatchMistakes(t *testing.T) {
	tests := []struct {
		name string
		o    *dataset.PaddedBatchOptions
		want string
	}{
		{"count", &dataset.PaddedBatchOptions{Shapes: [][]int64{{}, {}}}, "1 components, 2 padding shapes"},
		{"rank", &dataset.PaddedBatchOptions{Shapes: [][]int64{{2}}}, "its padding shape has 1 dimensions"},
		{"size", &dataset.PaddedBatchOptions{Shapes: [][]int64{{1, -1}}}, "larger than its padding [1 -1]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScope(t)
			d := dataset.FromTensors(s, s.Const([][]int32{{1, 2}, {3, 4}})).PaddedBatch(2, tt.o)
			if err := s.Err(); err == nil || !strings.Contains(err.Error(), tt.want) || d.Variant().Op != nil {
				t.Errorf("error\n got %v\nwant one with %q", err, tt.want)
			}
		})
	}
}

func TestWindow(t *testing.T) {
	s := newScope(t)
	numbers := dataset.Zip(s, dataset.Range(s, 0, 5, 1), dataset.Range(s, 10, 15, 1))
	joined := func(o *dataset.WindowOptions) *dataset.Dataset {
		return numbers.Window(s.Const(int64(2)), o).FlatMap("join", func(s *graph.Scope, args outs) *dataset.Dataset {
			first := dataset.FromVariant(s, args[0], numbers.Specs()[:1])
			second := dataset.FromVariant(s, args[1], numbers.Specs()[1:])
			return dataset.Zip(s, first, second).Batch(9, false)
		})
	}
	window := func(v ...int64) []any {
		tens := make([]int64, len(v))
		for i := range v {
			tens[i] = v[i] + 10
		}
		return []any{v, tens}
	}
	tests := []struct {
		name string
		o    *dataset.WindowOptions
		want []any
	}{
		{"plain", nil, []any{window(0, 1), window(2, 3), window(4)}},
		{"drop", &dataset.WindowOptions{Drop: true}, []any{window(0, 1), window(2, 3)}},
		{"shift", &dataset.WindowOptions{Shift: s.Const(int64(1)), Drop: true}, []any{window(0, 1), window(1, 2), window(2, 3), window(3, 4)}},
		{"stride", &dataset.WindowOptions{Stride: s.Const(int64(2)), Drop: true}, []any{window(0, 2), window(2, 4)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, all(t, joined(tt.o))); diff != "" {
				t.Errorf("windows (-want +got)\n%s", diff)
			}
		})
	}
}

func TestRebatch(t *testing.T) {
	s := newScope(t)
	// Batches of 3, 3 and 1.
	d := dataset.Range(s, 0, 7, 1).BatchOutput(s.Const(int64(3)), false)
	checkSpecs(t, d, "int64[?]")
	tests := []struct {
		n    int64
		drop bool
		want []any
		spec string
	}{
		{2, false, []any{[]int64{0, 1}, []int64{2, 3}, []int64{4, 5}, []int64{6}}, "int64[?]"},
		{2, true, []any{[]int64{0, 1}, []int64{2, 3}, []int64{4, 5}}, "int64[2]"},
		{5, false, []any{[]int64{0, 1, 2, 3, 4}, []int64{5, 6}}, "int64[?]"},
		{9, true, []any{}, "int64[9]"},
	}
	for _, tt := range tests {
		rebatched := d.Rebatch(tt.n, tt.drop)
		if diff := cmp.Diff(tt.want, all(t, rebatched)); diff != "" {
			t.Errorf("batches of %d, drop %t (-want +got)\n%s", tt.n, tt.drop, diff)
		}
		checkSpecs(t, rebatched, tt.spec)
	}
	if diff := cmp.Diff([]any{[]int64{6}}, all(t, d.SkipOutput(s.Const(int64(2))))); diff != "" {
		t.Errorf("skipped (-want +got)\n%s", diff)
	}
	if d := dataset.Range(s, 0, 7, 1).Rebatch(2, false); s.Err() == nil || d.Variant().Op != nil {
		t.Error("scalars were cut into batches")
	}
}
