package check_test

import (
	"bytes"
	"slices"
	"testing"

	"millrace/internal/test/corrupt"
	"millrace/loaders/spec"
	"millrace/loaders/stage/check"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// The features of the checked plans.
var (
	text   = &spec.Feature{Name: "s", DType: tfbridge.String, Kind: spec.String}
	number = &spec.Feature{Name: "id", DType: tfbridge.Int64, Kind: spec.Int}
	three  = &spec.Feature{Name: "vals", DType: tfbridge.Float, Kind: spec.Float, Shape: []int64{3}}
)

func checker(sequence bool, features ...*spec.Feature) *check.Checker {
	s := &spec.Spec{Manifest: &spec.Manifest{AllowVarLen: sequence}, Features: features}
	return check.NewChecker(s)
}

// hugeList returns a SequenceExample with a feature list "other", in which a
// string claims 2^31 bytes.
func hugeList() []byte {
	context := example.MarshalSequence(nil, []example.NamedList{{Name: "other", Features: []example.Feature{
		{Kind: example.Bytes, Bytes: [][]byte{[]byte("12345")}},
	}}})
	return slices.Concat(context[:len(context)-6], []byte("\x80\x80\x80\x80\x08x"))
}

// TestChecker gives checkers records that end the process in TensorFlow's parsers,
// as they are and behind what makes Go's parser give up, and records that look
// like them and are sound.
func TestChecker(t *testing.T) {
	huge := corrupt.HugeString("s")
	overrun := []byte("\x9a\x06\x7fxx") // a field that ends behind the record: TensorFlow reads on
	negative := example.Marshal([]example.Named{{Name: "id", Feature: example.Feature{Kind: example.Int64, Ints: []int64{-1}}}})
	list := &spec.Feature{Name: "id", DType: tfbridge.Int64, Kind: spec.Int, VarLen: true}
	maybe := &spec.Feature{Name: "more", DType: tfbridge.Int64, Kind: spec.Int, VarLen: true, Optional: true}
	list2 := example.Marshal([]example.Named{{Name: "id", Feature: example.Feature{Kind: example.Int64, Ints: []int64{1, 2}}}})
	packed := example.Marshal([]example.Named{{Name: "vals", Feature: example.Feature{Kind: example.Float, Floats: make([]float32, 4)}}})
	spoiled := slices.Concat([]byte("\x0a\x21\x0a\x1f\x0a\x04vals\x12\x17\x12\x15"), bytes.Repeat([]byte("\x0d\x00\x00\x00\x00"), 4), []byte{0xff})
	tests := []struct {
		name     string
		checker  *check.Checker
		record   []byte
		accepted bool
	}{
		{"a huge string", checker(false, text), huge, false},
		{"a huge string in the context", checker(true, text), huge, false},
		{"a huge string in the context that nobody requested", checker(true, number, &spec.Feature{Name: "t", DType: tfbridge.String, Kind: spec.String}), huge, false},
		{"a huge string in a list that nobody requested", checker(true, text), hugeList(), false},
		{"a huge string, then a field too long", checker(false, text), slices.Concat(huge, overrun), false},
		{"a huge string in the context, then a field too long", checker(true, text), slices.Concat(huge, overrun), false},
		{"too many floats", checker(false, three), corrupt.Unpacked(1, 4), false},
		{"too many floats, then a field too long", checker(false, three), slices.Concat(corrupt.Unpacked(1, 4), overrun), false},
		{"too many floats, then a wrong tag in the list", checker(false, three), spoiled, false},
		{"as many floats as there is room for", checker(false, three), corrupt.Unpacked(1, 3), true},
		{"too many floats for another feature", checker(false, three, &spec.Feature{Name: "one", DType: tfbridge.Float, Kind: spec.Float}), corrupt.Unpacked(1, 3), true},
		{"a huge string where no string is requested", checker(false, number), huge, true},
		{"too many floats of a context", checker(true, three), corrupt.Unpacked(1, 4), true},
		{"a negative number beside a string", checker(false, text, number), negative, true},
		{"a negative number beside a string in the context", checker(true, text, number), negative, true},
		{"a field too long", checker(false, text), slices.Concat(corrupt.Example(1), overrun), true},
		{"nothing", checker(true, text), nil, true},
		{"bytes with the high bit, then one without any of the low ones, then a field too long", checker(false, text), slices.Concat([]byte("\x80\x80\x80\x80\x10"), overrun), true},
		{"a feature of any number of values", checker(false, list), list2, true},
		{"a feature of any number of values that is absent", checker(false, list), packed, false},
		{"an optional one that is absent", checker(false, maybe), negative, true},
		{"no protobuf for features of any number of values", checker(false, maybe), []byte("\xff"), false},
		{"a varint of four bytes at the start, then a field too long", checker(false, text), slices.Concat([]byte("\x80\x80\x80\x01"), overrun), true},
		{"a varint of five bytes at the start, then a field too long", checker(false, text), slices.Concat([]byte("\x80\x80\x80\x80\x01"), overrun), false},
		{"too many floats for the smaller feature, then a field too long",
			checker(false, &spec.Feature{Name: "vals", DType: tfbridge.Float, Kind: spec.Float}, &spec.Feature{Name: "x", DType: tfbridge.Float, Kind: spec.Float, Shape: []int64{3}}),
			slices.Concat(corrupt.Unpacked(1, 2), overrun), false},
		{"as many floats as there is room for, then a field too long", checker(false, three), slices.Concat(corrupt.Unpacked(1, 3), overrun), true},
		{"bytes like the tags of floats, apart from them", checker(false, three),
			slices.Concat(corrupt.Unpacked(1, 3), []byte("\x9a\x06\x0a\x00\x00\x00\x00\x00\x0d\x0d\x0d\x0d\x0d"), overrun), true},
		{"too many floats of a context, then a field too long", checker(true, three), slices.Concat(corrupt.Unpacked(1, 4), overrun), true},
		{"too many packed floats", checker(false, text, three), slices.Concat(negative, packed), true},
		{"as many floats as there is room for and a negative number", checker(false, text, three), slices.Concat(negative, corrupt.Unpacked(1, 3)), true},
	}
	for _, tt := range tests {
		if err := tt.checker.Check(tt.record); (err == nil) != tt.accepted {
			t.Errorf("%s: got %v, want accepted: %v", tt.name, err, tt.accepted)
		}
	}
}

// A check holds nothing of the record before.
func TestCheckForgets(t *testing.T) {
	j := checker(false, text, three)
	sound := []byte("\x0d\x0d\x0d\x0d\x0d\x00\x00\x00\x00\x00") // Go cannot parse it
	for _, bad := range [][]byte{corrupt.HugeString("s"), corrupt.Unpacked(1, 4), slices.Concat(corrupt.HugeString("s"), []byte{0xff})} {
		if j.Check(bad) == nil {
			t.Errorf("%x was accepted", bad)
		}
		if err := j.Check(sound); err != nil {
			t.Errorf("after %x: %v", bad, err)
		}
	}
}
