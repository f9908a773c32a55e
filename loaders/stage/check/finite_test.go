package check_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"millrace"
	"millrace/loaders/spec"
	"millrace/loaders/stage/check"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// NaN, infinity, and what a cast makes infinite, make a bad record where values must
// be finite, and only there.
func TestCheckFinite(t *testing.T) {
	for _, tt := range []struct {
		dtype tfbridge.DataType
		value float32
		good  bool
	}{
		{tfbridge.Float, 1, true},
		{tfbridge.Float, math.MaxFloat32, true},
		{tfbridge.Float, float32(math.NaN()), false},
		{tfbridge.Float, float32(math.Inf(-1)), false},
		{tfbridge.Half, 65519, true},
		{tfbridge.Half, 65520, false},
	} {
		record := example.Marshal([]example.Named{{Name: "x", Feature: example.Feature{Kind: example.Float, Floats: []float32{0, tt.value}}}})
		for _, finite := range []bool{true, false} {
			f := &spec.Feature{Name: "x", DType: tt.dtype, Kind: spec.Float, Shape: []int64{2}, Finite: finite}
			s := &spec.Spec{Manifest: &spec.Manifest{}, Features: []*spec.Feature{f}, Primaries: []spec.Primary{{From: f, To: "x"}}}
			err := check.Record(s, record)
			var e *millrace.Error
			if good := err == nil; good != (tt.good || !finite) {
				t.Errorf("%v of %v, finite %v: %v", tt.value, tt.dtype, finite, err)
			} else if !good && (!errors.As(err, &e) || e.Feature != "x") {
				t.Errorf("the error names no feature: %v", err)
			}
		}
	}
}

// So do those among the bytes of raw tensors, in either order of bytes, and the error
// says which value it is. An infinity read in the wrong order of bytes is a number.
func TestCheckFiniteOfBytes(t *testing.T) {
	for _, tt := range []struct {
		dtype  tfbridge.DataType
		endian string
		bytes  string
		bad    string // how the error begins; "": there is none
	}{
		{tfbridge.Float, "little", "\x00\x00\x80\x3f\x00\x00\x80\x7f", "value 1 is"},
		{tfbridge.Float, "big", "\x7f\xc0\x00\x00\x3f\x80\x00\x00", "value 0 is"},
		{tfbridge.Float, "big", "\x00\x00\x80\x7f\x3f\x80\x00\x00", ""},
		{tfbridge.Half, "little", "\xff\x7b\x00\xfc", "value 1 is"},
		{tfbridge.Bfloat16, "little", "\x80\x7f\x00\x00", "value 0 is"},
		{tfbridge.Bfloat16, "little", "\x7f\x7f\x00\x7c", ""},
		{tfbridge.Double, "big", "\x7f\xef\xff\xff\xff\xff\xff\xff\xff\xf0\x00\x00\x00\x00\x00\x00", "value 1 is"},
		{tfbridge.Complex64, "little", "\x00\x00\x00\x00\x00\x00\x80\x3f\x00\x00\x00\x00\x00\x00\x80\xff", "value 1 is"},
	} {
		record := example.Marshal([]example.Named{{Name: "x", Feature: example.Feature{Kind: example.Bytes, Bytes: [][]byte{[]byte(tt.bytes)}}}})
		f := &spec.Feature{Name: "x", DType: tt.dtype, Kind: spec.Raw, Endian: tt.endian, Shape: []int64{2}, Finite: true}
		s := &spec.Spec{Manifest: &spec.Manifest{}, Features: []*spec.Feature{f}, Primaries: []spec.Primary{{From: f, To: "x"}}}
		err := check.Record(s, record)
		var e *millrace.Error
		switch {
		case tt.bad == "" && err != nil:
			t.Errorf("% x of %v, %s endian: %v", tt.bytes, tt.dtype, tt.endian, err)
		case tt.bad != "" && (!errors.As(err, &e) || e.Feature != "x" || !strings.HasPrefix(e.Msg, tt.bad)):
			t.Errorf("% x of %v, %s endian: got %v, want %q", tt.bytes, tt.dtype, tt.endian, err, tt.bad)
		}
	}
}
