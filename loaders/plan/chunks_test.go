package plan

import (
	"errors"
	"strings"
	"testing"

	"millrace"
	"millrace/loaders/chunks"
	"millrace/loaders/spec"
	"millrace/loaders/stage/check"
	"millrace/loaders/stage/chunk"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// A row with its context may be as long as the size to which it is padded, if that is
// fixed.
func TestRowsFit(t *testing.T) {
	p := New(&spec.Spec{
		Chunks: &spec.Chunks{Sequences: []spec.Sequence{{Tensor: "x", Left: 2, Right: 1}, {Tensor: "y"}, {Tensor: "z", Left: 9}}, Aligned: true},
		Padding: []spec.Pad{
			{Tensor: "w", Shape: []int64{1}}, {Tensor: "y", Shape: []int64{4}}, {Tensor: "x", Shape: []int64{6, 1}}, {Tensor: "z", Shape: []int64{-1}},
		},
	}, nil)
	for _, tt := range []struct {
		sequence int
		frames   int64
		fits     bool
	}{{0, 3, true}, {0, 4, false}, {1, 4, true}, {1, 5, false}, {2, 99, true}} {
		if err := check.RowFits(p.Spec, tt.sequence, tt.frames); (err == nil) != tt.fits {
			t.Errorf("%d frames of sequence %d: %v", tt.frames, tt.sequence, err)
		}
	}
	for _, tt := range []struct {
		aligned bool
		lengths []int64
		fits    bool
	}{{true, []int64{3, 3, 3}, true}, {true, []int64{3, 3, 2}, false}, {true, []int64{4, 3, 4}, false}, {false, []int64{1, 2, 3}, true}} {
		p.Chunks.Aligned = tt.aligned
		if err := check.Aligned(p.Spec, tt.lengths); (err == nil) != tt.fits {
			t.Errorf("lengths %d: %v", tt.lengths, err)
		}
	}
}

// The number of rows of a run is known where all sequences have the same length. Epochs
// that take a longer part of the sequences are counted correctly.
func TestRowsOfChunks(t *testing.T) {
	scan := &Scan{Indexes: []*tfrecord.Index{{Records: 4}, {Records: 3}}}
	fixed := &spec.Feature{Name: "x", DType: tfbridge.Float, Shape: []int64{10}}
	list := &spec.Feature{Name: "x", DType: tfbridge.Float, VarLen: true}
	for _, tt := range []struct {
		feature   *spec.Feature
		cut       chunks.Cut
		epochs    int64
		partition int64
		rows      int64
		known     bool
	}{
		{fixed, chunks.Cut{Size: 4, Step: 4}, 1, 1, 21, true},
		{fixed, chunks.Cut{Size: 4, Step: 4}, 2, 1, 42, true},
		{fixed, chunks.Cut{Size: 4, Step: 4, DropTail: true}, 1, 1, 14, true},
		{fixed, chunks.Cut{Size: 4, Step: 4}, 1, 2, 12, true}, // 4 of 7 sequences
		{fixed, chunks.Cut{Size: 4, Step: 4}, 3, 2, 33, true},
		{fixed, chunks.Cut{}, 2, 3, 5, true},
		{list, chunks.Cut{}, 2, 1, 14, true},
		{list, chunks.Cut{Size: 4, Step: 4}, 2, 1, 0, false},
		{fixed, chunks.Cut{Size: 4, Step: 4}, 0, 1, 0, false},
	} {
		s := &spec.Spec{Manifest: &spec.Manifest{}, Epochs: tt.epochs, Primaries: []spec.Primary{{From: fixed, To: "other"}, {From: tt.feature, To: "x"}}, Chunks: &spec.Chunks{
			Sequences: []spec.Sequence{{Tensor: "x"}}, Cut: tt.cut, Partition: tt.partition,
		}}
		rows, known := New(s, nil).Rows(scan)
		if rows != tt.rows || known != tt.known {
			t.Errorf("%+v, %d epochs of %d parts: %d rows, %v, want %d, %v", tt.cut, tt.epochs, tt.partition, rows, known, tt.rows, tt.known)
		}
		if rows, known := New(s, nil).Rows(&Scan{Indexes: []*tfrecord.Index{{Records: 4}, nil}}); rows != 0 || known {
			t.Errorf("with a file that was not counted: %d rows, %v", rows, known)
		}
	}
}

// The share of padding of a tensor is known for known shapes. For other tensors it is
// measured, by tensors with names that no other tensor has.
func TestShareOfPadding(t *testing.T) {
	s := &spec.Spec{
		Tensors: []spec.TensorSpec{
			{Name: "half", Shape: []int64{4}}, {Name: "none", Shape: []int64{2, 3}}, {Name: "nothing", Shape: []int64{0}}, {Name: "list", Shape: []int64{-1, 2}},
			{Name: "id", Shape: []int64{}}, {Name: "elements of list", Shape: []int64{}},
		},
		Padding: []spec.Pad{{Shape: []int64{8}}, {Shape: []int64{-1, 3}}, {Shape: []int64{0}}, {Shape: []int64{9, 2}}, {Shape: []int64{}}, {Shape: []int64{}}},
	}
	p := New(s, nil)
	q, tensors := p.MeasurePadding()
	want := []PaddedTensor{{Name: "half", Share: 0.5}, {Name: "none"}, {Name: "nothing"}, {Name: "list", Counter: "elements of list'"}}
	if len(tensors) != len(want) {
		t.Fatalf("got %+v, want %+v", tensors, want)
	}
	for i := range want {
		if tensors[i] != want[i] {
			t.Errorf("got %+v, want %+v", tensors[i], want[i])
		}
	}
	last := len(s.Tensors)
	if len(q.Tensors) != last+1 || q.Tensors[last].Name != "elements of list'" || q.Tensors[last].DType != tfbridge.Int64 || len(q.Padding) != last+1 || len(p.Tensors) != last {
		t.Errorf("measured by %+v, %+v; planned %+v", q.Tensors, q.Padding, p.Tensors)
	}
	if m := q.Measures; len(m) != 1 || m[0] != (spec.Measure{To: "elements of list'", Kind: spec.ElementCount, Tensor: "list"}) || q.Padding[last].Value != int64(0) {
		t.Errorf("measures %+v, padding %+v", m, q.Padding[last])
	}
}

// The number of records that are parsed at once depends on their sizes and on those of
// their tensors: 1 MiB, eight batches at most, one at least.
func TestGroupsByBytes(t *testing.T) {
	byteTensor := []spec.TensorSpec{{Name: "k", DType: tfbridge.Int8, Shape: []int64{}}}
	many := &spec.Spec{Manifest: &spec.Manifest{}, Tensors: byteTensor, BatchSize: 200_000}
	lines := &spec.Spec{Manifest: &spec.Manifest{}, Tensors: byteTensor, BatchSize: 10}
	windows := &spec.Spec{Manifest: &spec.Manifest{}, Window: &spec.Window{Unit: spec.Records, Min: 1, Max: 2}, BatchSize: 10}
	for _, tt := range []struct {
		spec  *spec.Spec
		index *tfrecord.Index
		want  int64
	}{
		{lines, &tfrecord.Index{Records: 100, DataBytes: 100}, 80},
		{lines, &tfrecord.Index{Records: 0}, 80},
		{many, &tfrecord.Index{Records: 100, DataBytes: 100}, 1_000_000},
		{lines, &tfrecord.Index{Records: 100, DataBytes: 100 * 26214}, 40}, // 40 records of 26214 bytes are 1 MiB
		{lines, &tfrecord.Index{Records: 100, DataBytes: 100 * 26215}, 30},
		{lines, &tfrecord.Index{Records: 2, DataBytes: 2 << 20}, 10},
		{windows, &tfrecord.Index{Records: 2, MaxRecord: 1}, 1024},
		{windows, &tfrecord.Index{Records: 2, MaxRecord: 1 << 11}, 512},
		{windows, &tfrecord.Index{Records: 2, MaxRecord: 1 << 19}, 2},
		{windows, &tfrecord.Index{Records: 2, MaxRecord: 1 << 20}, 1},
		{windows, &tfrecord.Index{Records: 2, MaxRecord: 1 << 22}, 1},
		{windows, &tfrecord.Index{}, 1024},
		{windows, nil, 8},
	} {
		p := New(tt.spec, nil)
		if got := p.Engine().GroupSize(&Scan{Indexes: []*tfrecord.Index{tt.index}}); got != tt.want {
			t.Errorf("%+v: %d records at once, want %d", tt.index, got, tt.want)
		}
	}
	two := &Scan{Indexes: []*tfrecord.Index{{Records: 2, MaxRecord: 9, DataBytes: 5}, {Records: 3, MaxRecord: 4, DataBytes: 7}, nil}}
	if two.Bytes() != 12 || two.Largest() != -1 || two.Count(1) != 3 || two.Count(2) != -1 {
		t.Errorf("%d bytes, the largest %d, %d and %d records", two.Bytes(), two.Largest(), two.Count(1), two.Count(2))
	}
	two.Indexes = two.Indexes[:2]
	if n, known := two.Records(); n != 5 || !known || two.Largest() != 9 {
		t.Errorf("%d records, %v, the largest %d", n, known, two.Largest())
	}
}

// The error of a loader that gives nothing says what is missing, and which argument to
// change.
func TestNoData(t *testing.T) {
	window, frames := &spec.Window{Min: 3, Unit: spec.Records}, chunks.Cut{Size: 4, Step: 4}
	whole, dropped := chunks.Cut{}, frames
	dropped.DropTail = true
	for _, tt := range []struct {
		spec       *spec.Spec
		words, key string
	}{
		{&spec.Spec{}, "the data files hold no records", "args.epochs"},
		{&spec.Spec{Window: window}, "no file is long enough for a window of 3 records", "args.min_window"},
		{&spec.Spec{Chunks: &spec.Chunks{Cut: whole}}, "the data give no batch: there is no record", ""},
		{&spec.Spec{Chunks: &spec.Chunks{Cut: frames}}, "the data give no chunk: no sequence has a frame", "args.chunk_size"},
		{&spec.Spec{Chunks: &spec.Chunks{Cut: dropped}}, "no sequence has 4 frames, and tail is drop", "args.tail"},
	} {
		tt.spec.Path = "loader.json"
		var e *millrace.Error
		err := New(tt.spec, nil).NoData()
		if !errors.As(err, &e) || e.Class != millrace.ErrSchema || e.Loader != "loader.json" || e.Key != tt.key || !strings.Contains(e.Msg, tt.words) {
			t.Errorf("got %v, want %s of %s", err, tt.words, tt.key)
		}
	}
	list := &spec.Feature{Name: "x", VarLen: true}
	empty := &spec.Spec{Manifest: &spec.Manifest{}, Primaries: []spec.Primary{{From: list, To: "x"}}, Chunks: &spec.Chunks{Sequences: []spec.Sequence{{Tensor: "x"}}, Cut: frames}}
	if err := chunk.CheckRows(t.Context(), New(empty, nil).Spec, &Scan{}); err == nil {
		t.Error("there are rows of no files")
	}
	if err := chunk.CheckRows(t.Context(), New(empty, nil).Spec, &Scan{Indexes: []*tfrecord.Index{nil}}); err != nil {
		t.Errorf("of files that only TensorFlow can read: %v", err)
	}
}
