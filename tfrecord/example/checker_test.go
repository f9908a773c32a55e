package example_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"millrace"
	"millrace/internal/test/corrupt"
	"millrace/tfrecord/example"
)

// nested returns a field of bytes.
func nested(tag byte, b []byte) []byte { return slices.Concat([]byte{tag, byte(len(b))}, b) }

// oneFeature returns an Example, or the context of a SequenceExample, with one feature.
// list has the bytes of its list; tag 1 means byte strings, 2 floats.
func oneFeature(key string, tag byte, list []byte) []byte {
	entry := slices.Concat(nested(0x0a, []byte(key)), nested(0x12, nested(tag<<3|2, list)))
	return nested(0x0a, nested(0x0a, entry))
}

// TestChecker checks records that end the process in one of TensorFlow's parsers, and
// records that look like them. Package loaders/plan tests the requests of loaders.
func TestChecker(t *testing.T) {
	float := func(n int64) example.Request {
		return example.Request{Features: []example.Requested{{Key: "f", Kind: example.Float, Floats: n}}}
	}
	overshoot := oneFeature("s", 1, []byte("\x0a\x05ab"))
	claim := oneFeature("f", 2, []byte("\x0a\xff\xff\xff\x7f\x00\x00\x00\x00")) // 2^28 - 1 bytes
	four := oneFeature("f", 2, bytes.Repeat([]byte("\x0d\x00\x00\x00\x00"), 4))
	odd := []byte("\x9a\x06\x7fxx") // a field that ends after the record; TensorFlow continues
	strings := []example.Requested{{Key: "s", Kind: example.Bytes}}
	tests := []struct {
		name     string
		request  example.Request
		record   []byte
		accepted bool
	}{
		{"a huge string", example.Request{Features: strings}, corrupt.HugeString("s"), false},
		{"a huge string that nobody asks for", float(3), corrupt.HugeString("s"), true},
		{"a string that ends behind its list", example.Request{Features: strings}, overshoot, true},
		{"a string of a sequence that ends behind its list", example.Request{Sequence: true, Whole: true, Features: strings}, overshoot, false},
		{"a string of a feature list that ends behind its list", example.Request{Sequence: true, Whole: true, Features: strings}, slices.Concat([]byte{0x12, byte(len(overshoot) - 2)}, overshoot[2:]), false},
		{"floats that claim more than there are, for a list", float(example.AnyNumber), claim, false},
		{"floats that claim more than there are, for a shape", float(3), claim, true},
		{"unpacked floats for a list", float(example.AnyNumber), four, true},
		{"unpacked floats for a shape", float(3), four, false},
		{"unpacked floats for nobody knows what", example.Request{Whole: true}, four, false},
		{"a huge string for nobody knows what", example.Request{Whole: true}, corrupt.HugeString("s"), false},
		{"a sound record for nobody knows what", example.Request{Whole: true}, corrupt.Example(1), true},
		{"a field that is too long for nobody knows what", example.Request{Whole: true}, slices.Concat(corrupt.Example(1), odd), false},
		{"a field that is too long", example.Request{Features: strings}, slices.Concat(corrupt.Example(1), odd), true},
		{"nothing", example.Request{Whole: true}, nil, true},
	}
	for _, tt := range tests {
		if err := example.NewChecker(tt.request).Check(tt.record); (err == nil) != tt.accepted {
			t.Errorf("%s: got %v, want accepted: %v", tt.name, err, tt.accepted)
		}
	}
}

// The error names the feature.
func TestCheckNamesTheFeature(t *testing.T) {
	j := example.NewChecker(example.Request{Features: []example.Requested{{Key: "other", Kind: example.Bytes}, {Key: "s", Kind: example.Bytes}}})
	var e *millrace.Error
	if err := j.Check(corrupt.HugeString("s")); !errors.As(err, &e) || e.Feature != "s" {
		t.Errorf("got %v", err)
	}
}

// Of several faulty feature lists the first is named, each time.
func TestCheckNamesTheFirstList(t *testing.T) {
	var lists []byte
	for _, key := range []string{"first", "second", "third"} {
		lists = append(lists, nested(0x0a, slices.Concat(nested(0x0a, []byte(key)), nested(0x12, []byte{0x08, 0x01})))...)
	}
	record := nested(0x12, lists)
	for range 20 {
		err := example.NewChecker(example.Request{Sequence: true, Whole: true}).Check(record)
		var e *millrace.Error
		if !errors.As(err, &e) || e.Feature != "first" {
			t.Fatalf("got %v", err)
		}
	}
}

// The time to check a record with many features is linear in its length.
func TestCheckOfManyFeatures(t *testing.T) {
	const n = 200_000
	one := []byte("\x0a\x09\x0a\x03\x00\x00\x00\x12\x02\x0a\x00")
	entries := bytes.Repeat(one, n)
	for i := range n {
		copy(entries[i*len(one)+4:], []byte{byte(i), byte(i >> 8), byte(i >> 16)})
	}
	size := len(entries)
	for _, tag := range []byte{0x0a, 0x12} {
		all := slices.Concat([]byte{tag, byte(size) | 0x80, byte(size>>7) | 0x80, byte(size>>14) | 0x80, byte(size >> 21)}, entries)
		if err := example.NewChecker(example.Request{Sequence: true, Whole: true}).Check(all); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkChecker checks Examples of usual sizes. Those with a negative number show the
// cost of doubts.
func BenchmarkChecker(b *testing.B) {
	for _, bench := range []struct {
		name   string
		floats int
		number int64
	}{{"100 floats", 100, 1}, {"10000 floats", 10_000, 1}, {"10000 floats and a negative number", 10_000, -1}} {
		b.Run(bench.name, func(b *testing.B) {
			floats := make([]float32, bench.floats)
			for i := range floats {
				floats[i] = float32(i) * 0.37
			}
			record := example.Marshal([]example.Named{
				{Name: "id", Feature: example.Feature{Kind: example.Int64, Ints: []int64{bench.number}}},
				{Name: "f", Feature: example.Feature{Kind: example.Float, Floats: floats}},
				{Name: "s", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte("text")}}},
			})
			j := example.NewChecker(example.Request{Features: []example.Requested{
				{Key: "f", Kind: example.Float, Floats: int64(bench.floats)}, {Key: "s", Kind: example.Bytes}, {Key: "id", Kind: example.Int64, Floats: 1},
			}})
			b.SetBytes(int64(len(record)))
			b.ReportAllocs()
			for b.Loop() {
				if err := j.Check(record); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
