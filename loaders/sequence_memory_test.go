package loaders_test

import (
	"testing"

	"millrace/internal/test/fixture"
	"millrace/internal/test/leak"
	"millrace/internal/test/testruntime"
	"millrace/tfrecord/example"
)

// TestMemoryOfOneLongSequence checks that a file of one sequence is streamed: memory is
// bounded by a window and a chunk, and not by the file.
func TestMemoryOfOneLongSequence(t *testing.T) {
	testruntime.Need(t)
	const records, length = 1500, 20_000 // 120 MB
	record := example.Marshal([]example.Named{{Name: "x", Feature: fixture.Floats(make([]float32, length)...)}})
	data := make([][]byte, records)
	for i := range data {
		data[i] = record
	}
	f := fixture.New(t)
	f.Type = "continuous_sequence"
	f.Manifest["features"] = []fixture.Object{
		{"name": "x", "dtype": "float32", "shape": []int{length}, "deserialize_type": "float"},
	}
	f.Args["primary_features"] = []fixture.Object{{"from_name": "x", "to_name": "x"}}
	f.Args["target_batch_size"], f.Args["padding"] = 16, true
	window{min: 1000, max: 9000, tail: "keep"}.set(f)
	f.WriteRecords(t, "a.tfrecords", data...)
	l := openSequence(t, f)
	first, most, rows := int64(0), int64(0), int64(0)
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if rows += b.Rows(); first == 0 {
			first = leak.Resident(t)
		}
		most = max(most, leak.Resident(t))
	}
	if rows < records*length/9000 {
		t.Errorf("%d windows, want more", rows)
	}
	if most-first > 48<<20 {
		t.Errorf("resident size grew by %d bytes over a file of %d", most-first, records*len(record))
	}
}
