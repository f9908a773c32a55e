package plan_test

import (
	"errors"
	"math"
	"testing"

	"millrace"
	"millrace/loaders/plan"
	"millrace/loaders/spec"
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
			err := plan.New(s, nil).CheckRecord(record)
			var e *millrace.Error
			if good := err == nil; good != (tt.good || !finite) {
				t.Errorf("%v of %v, finite %v: %v", tt.value, tt.dtype, finite, err)
			} else if !good && (!errors.As(err, &e) || e.Feature != "x") {
				t.Errorf("the error names no feature: %v", err)
			}
		}
	}
}
