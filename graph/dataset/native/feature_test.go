package native_test

import (
	"errors"
	"testing"

	"millrace"
	"millrace/graph/dataset/native"
	"millrace/tfbridge"
)

// A shape whose number of values or bytes overflows is refused before the operation
// sees it.
func TestShapesThatOverflow(t *testing.T) {
	for _, shape := range [][]int64{{1 << 31, 1 << 31, 1 << 31}, {1 << 31, 1 << 30}, {1 << 31, 1 << 31, 1 << 31, 0}} {
		s := newScope(t)
		features := []native.Feature{{Key: "x", Kind: native.Raw, DType: tfbridge.Double, Shape: shape}}
		native.Examples(s, s.Const([]string{"x"}), s.Const([]int64{-1}), features, nil)
		if err := s.Err(); !errors.Is(err, millrace.ErrLimit) {
			t.Errorf("shape %v: got %v, want an error of class %v", shape, err, millrace.ErrLimit)
		}
	}
}
