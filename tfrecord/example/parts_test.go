package example_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/tfrecord/example"
)

// The lengths of strings, some of which need more than one byte to encode.
func TestByteLens(t *testing.T) {
	record := example.Marshal([]example.Named{
		{Name: "texts", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{nil, []byte("ab"), []byte(strings.Repeat("x", 300)), []byte("c")}}},
		{Name: "none", Feature: example.Feature{Kind: example.Bytes}},
		{Name: "numbers", Feature: example.Feature{Kind: example.Int64, Ints: []int64{1, 2}}},
	})
	f, err := example.Parse(record)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]int{"texts": {0, 2, 300, 1}, "none": {}, "numbers": nil} {
		raw, err := f.Raw(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, raw.ByteLens()); diff != "" {
			t.Errorf("lengths in %q (-want +got)\n%s", name, diff)
		}
	}
}

// Truncated unknown fields of each wire type.
func TestCutUnknownFields(t *testing.T) {
	for name, tail := range map[string]string{"8 bytes": "\x19\x01\x02\x03\x04\x05\x06\x07", "4 bytes": "\x1d\x01\x02\x03", "a varint": "\x18\x80"} {
		if _, err := example.Parse([]byte("\x0a\x00" + tail)); err == nil || !strings.Contains(err.Error(), "not an Example (byte") {
			t.Errorf("%s, cut: %v", name, err)
		}
	}
	for name, tail := range map[string]string{"8 bytes": "\x19\x01\x02\x03\x04\x05\x06\x07\x08", "4 bytes": "\x1d\x01\x02\x03\x04", "a varint": "\x18\x80\x01", "none": ""} {
		if _, err := example.Parse([]byte("\x0a\x00" + tail)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An invalid list is an error, whichever way it is read.
func TestBadList(t *testing.T) {
	record := "\x12\x07\x0a\x05\x0a\x01l\x12\x00"              // a list without elements
	bad := "\x12\x0b\x0a\x09\x0a\x01l\x12\x04\x0a\x02\x2a\x00" // a list with an element of an unknown kind
	s, err := example.ParseSequence([]byte(record))
	if err != nil {
		t.Fatal(err)
	}
	if lists, err := s.DecodeLists(); err != nil || len(lists) != 1 || len(lists[0].Features) != 0 {
		t.Errorf("lists %v, %v", lists, err)
	}
	if s, err = example.ParseSequence([]byte(bad)); err != nil {
		t.Fatal(err)
	}
	lists, err := s.DecodeLists()
	_, one := s.List("l")
	if err == nil || one == nil {
		t.Errorf("all lists %v, %v; one list: %v", lists, err, one)
	}
}
