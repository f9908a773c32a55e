package dataset_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// pair is the content of a record of eight bytes.
type pair struct {
	X int32 `tf:"x"`
	Y int32 `tf:"y"`
}

// decodePair decodes a record.
func decodePair(record []byte) (pair, error) {
	if len(record) != 8 {
		return pair{}, fmt.Errorf("%d bytes, want 8", len(record))
	}
	return pair{int32(binary.LittleEndian.Uint32(record)), int32(binary.LittleEndian.Uint32(record[4:]))}, nil
}

// encodePairs is the reverse of decodePair.
func encodePairs(points ...pair) []string {
	records := []string{}
	for _, p := range points {
		records = append(records, string(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(p.X)), uint32(p.Y))))
	}
	return records
}

// A record format in Go: bytes in, tensors out, a batch at a time.
func ExampleDataset_DecodeRecords() {
	decoder, err := dataset.NewRecordDecoder(decodePair, &dataset.RecordDecoderOptions{Name: "points"})
	if err != nil {
		log.Fatal(err)
	}
	s := graph.NewScope()
	defer s.Graph().Close()
	records := dataset.FromSlices(s, s.Const(encodePairs(pair{1, 2}, pair{3, 4}, pair{5, 6})))
	d := records.Batch(2, false).DecodeRecords(decoder, nil)
	fmt.Println(d.Spec())
	for batch, err := range dataset.Iterate[struct {
		X []int32 `tf:"x"`
		Y []int32 `tf:"y"`
	}](context.Background(), d, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.X, batch.Y)
	}
	// Output:
	// {x: int32[?], y: int32[?]}
	// [1 3] [2 4]
	// [5] [6]
}

// newDecoder returns a decoder.
func newDecoder[T any](t *testing.T, fn func([]byte) (T, error), o *dataset.RecordDecoderOptions) *dataset.RecordDecoder {
	t.Helper()
	d, err := dataset.NewRecordDecoder(fn, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// keyed returns records with keys.
func keyed(s *graph.Scope, records ...string) *dataset.Dataset {
	keys := make([]string, len(records))
	for i := range keys {
		keys[i] = fmt.Sprintf("points.bin:%d", i)
	}
	return dataset.FromSlices(s, s.Const(records), s.Const(keys))
}

// Records of any shape become tensors of that shape, and the values may be of any
// type that tensors hold.
func TestDecodeRecordsShapes(t *testing.T) {
	words := newDecoder(t, func(record []byte) ([]string, error) { return strings.Fields(string(record)), nil }, nil)
	s := newScope(t)
	lines := dataset.FromSlices(s, s.Const([]string{"a b", "c", "", "d e"}))
	got, err := dataset.ToSlice[[]string](t.Context(), lines.DecodeRecords(words, &dataset.MapOptions{Parallel: 2}), nil)
	if diff := cmp.Diff([][]string{{"a", "b"}, {"c"}, {}, {"d", "e"}}, got); diff != "" || err != nil {
		t.Errorf("scalars: %v (-want +got)\n%s", err, diff)
	}
	points := newDecoder(t, decodePair, nil)
	all := encodePairs(pair{1, 2}, pair{3, 4}, pair{5, 6}, pair{7, 8})
	squares := dataset.FromTensors(s, graph.Reshape(s, s.Const(all), s.Const([]int64{2, 2}))).DecodeRecords(points, nil)
	type square struct {
		X [][]int32 `tf:"x"`
		Y [][]int32 `tf:"y"`
	}
	two, err := dataset.ToSlice[square](t.Context(), squares, nil)
	if diff := cmp.Diff([]square{{[][]int32{{1, 3}, {5, 7}}, [][]int32{{2, 4}, {6, 8}}}}, two); diff != "" || err != nil {
		t.Errorf("a matrix: %v (-want +got)\n%s", err, diff)
	}
}

// An error names the record's key, keeps its class and wraps the function's error. The
// iterator continues with the next element.
func TestDecodeRecordsFails(t *testing.T) {
	errOdd := errors.New("odd")
	decode := func(record []byte) ([]int64, error) {
		switch string(record) {
		case "odd":
			return nil, errOdd
		case "late":
			return nil, millrace.Errorf(millrace.ErrTransient, "later")
		case "panic":
			panic("no such thing")
		case "long":
			return []int64{1, 2}, nil
		}
		return []int64{1}, nil
	}
	tests := []struct {
		record string
		class  millrace.Class
		want   string
	}{
		{"odd", millrace.ErrCorrupt, "points: key points.bin:1: odd"},
		{"late", millrace.ErrTransient, "points: key points.bin:1: later"},
		{"panic", millrace.ErrInternal, "points: key points.bin:1: panic: no such thing"},
		{"long", millrace.ErrSchema, "points: key points.bin:1: another shape than the records before it"},
	}
	decoder := newDecoder(t, decode, &dataset.RecordDecoderOptions{Name: "points"})
	for _, tt := range tests {
		t.Run(tt.record, func(t *testing.T) {
			s := newScope(t)
			_, err := tryAll(t, keyed(s, "a", tt.record).Batch(2, false).DecodeRecords(decoder, nil))
			var e *dataset.RecordError
			if !errors.Is(err, tt.class) || !strings.Contains(fmt.Sprint(err), tt.want) || !errors.As(err, &e) || e.Index != 1 || e.Key != "points.bin:1" {
				t.Errorf("got %v, want class %v, %q", err, tt.class, tt.want)
			}
			if tt.record == "odd" && !errors.Is(err, errOdd) {
				t.Errorf("%v does not wrap the function's error", err)
			}
			_, err = tryAll(t, dataset.FromSlices(s, s.Const([]string{tt.record})).Batch(1, false).DecodeRecords(decoder, nil))
			if tt.record != "long" && (err == nil || !strings.Contains(err.Error(), "record 0 of the tensor")) {
				t.Errorf("without keys: got %v", err)
			}
		})
	}
	s := newScope(t)
	got, err := dataset.ToSlice[[]int64](t.Context(), keyed(s, "a", "odd", "b").DecodeRecords(decoder, nil).IgnoreErrors(), nil)
	if len(got) != 2 || err != nil {
		t.Errorf("after the error: %v, %v, want the two other elements", got, err)
	}
}

// At most Workers calls run at a time, however many elements are requested.
func TestDecodeRecordsWorkers(t *testing.T) {
	const workers = 2
	var running, most atomic.Int64
	decoder := newDecoder(t, func(record []byte) (int64, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		return int64(len(record)), nil
	}, &dataset.RecordDecoderOptions{Workers: workers})
	s := newScope(t)
	lines := dataset.FromSlices(s, s.Const([]string{"a"})).Repeat(200)
	got, err := dataset.ToSlice[int64](t.Context(), lines.DecodeRecords(decoder, &dataset.MapOptions{Parallel: 16}), nil)
	if len(got) != 200 || err != nil || most.Load() > workers {
		t.Errorf("%d elements, %v, %d calls at a time; want 200, at most %d", len(got), err, most.Load(), workers)
	}
}

// An iterator over decoded records can be saved, unless the decoder is stateful.
func TestDecodeRecordsState(t *testing.T) {
	for _, stateful := range []bool{false, true} {
		decoder := newDecoder(t, func(record []byte) (int64, error) { return int64(len(record)), nil }, &dataset.RecordDecoderOptions{Stateful: stateful})
		build := func(s *graph.Scope) *dataset.Dataset {
			return dataset.FromSlices(s, s.Const([]string{"a", "bb", "ccc"})).DecodeRecords(decoder, nil)
		}
		first, second := start(t, build), start(t, build)
		if diff := cmp.Diff(values(1), first.next(1)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		state, err := first.it.SaveState(t.Context(), first.sess)
		if stateful {
			if !errors.Is(err, tfbridge.FailedPrecondition) {
				t.Errorf("stateful: got %v, want FAILED_PRECONDITION", err)
			}
			continue
		}
		if err := errors.Join(err, second.it.RestoreState(t.Context(), second.sess, state)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(values(2, 3), second.next(3)); diff != "" {
			t.Errorf("after the restore (-want +got)\n%s", diff)
		}
	}
}

// Impossible decoders, and values that cannot be decoded to, are reported while
// building.
func TestDecodeRecordsRefuses(t *testing.T) {
	_, err := dataset.NewRecordDecoder[int64](nil, nil)
	isClass(t, err, millrace.ErrModel)
	_, err = dataset.NewRecordDecoder(func([]byte) (chan int, error) { return nil, nil }, nil)
	isClass(t, err, millrace.ErrModel)
	_, err = dataset.NewRecordDecoder(decodePair, &dataset.RecordDecoderOptions{Workers: -1})
	isClass(t, err, millrace.ErrModel)
	decoder := newDecoder(t, decodePair, nil)
	for name, d := range map[string]func(*graph.Scope) *dataset.Dataset{
		"numbers": func(s *graph.Scope) *dataset.Dataset { return dataset.Range(s, 0, 3, 1).DecodeRecords(decoder, nil) },
		"three": func(s *graph.Scope) *dataset.Dataset {
			x := s.Const("x")
			return dataset.FromTensors(s, x, x, x).DecodeRecords(decoder, nil)
		},
		"no decode": func(s *graph.Scope) *dataset.Dataset {
			return dataset.FromTensors(s, s.Const("x")).DecodeRecords(nil, nil)
		},
	} {
		s := newScope(t)
		if d(s); !errors.Is(s.Err(), millrace.ErrModel) {
			t.Errorf("%s: got %v", name, s.Err())
		}
	}
}
