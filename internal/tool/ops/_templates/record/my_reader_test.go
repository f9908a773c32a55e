package myreader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"strings"
	"testing"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) {
	if _, err := tfbridge.LoadLibrary("./myreader.so"); err != nil {
		log.Fatal(err, "; millrace ops build makes it")
	}
	os.Exit(m.Run())
}

// encode returns a record.
func encode(label int64, values ...float32) string {
	b := binary.LittleEndian.AppendUint64(nil, uint64(label))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return string(b)
}

func TestBatches(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	records := dataset.FromSlices(s, s.Const([]string{encode(1, 0.5, 1), encode(-2, 2, 3), encode(3, 4, 5)}))
	batches := Decode(records.Batch(2, false), 2)
	if got, want := batches.Spec().String(), "{label: int64[?], values: float32[?, 2]}"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	got, err := dataset.ToSlice[Batch](t.Context(), batches, nil)
	if want := "[{[1 -2] [[0.5 1] [2 3]]} {[3] [[4 5]]}]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("got %v, %v; want %s", got, err, want)
	}
}

// Single records are decoded, too.
func TestRecords(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	type record struct {
		Label  int64      `tf:"label"`
		Values [1]float32 `tf:"values"`
	}
	got, err := dataset.ToSlice[record](t.Context(), Decode(dataset.FromSlices(s, s.Const([]string{encode(7, 8)})), 1), nil)
	if want := "[{7 [8]}]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("got %v, %v; want %s", got, err, want)
	}
}

// An error has the record's key, or else its number.
func TestDamagedRecord(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	records, keys := s.Const([]string{encode(1, 2), "short"}), s.Const([]string{"a.rec:0", "a.rec:1"})
	for _, tt := range []struct {
		d    *dataset.Dataset
		want string
	}{
		{Decode(dataset.FromTensors(s, records), 1), "record 1: 5 bytes, want 12"},
		{DecodeKeyed(dataset.FromTensors(s, records, keys), 1), "key a.rec:1: 5 bytes, want 12"},
	} {
		_, err := dataset.ToSlice[Batch](t.Context(), tt.d, nil)
		if !errors.Is(err, millrace.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("got %v, want an error with %q", err, tt.want)
		}
	}
}
