package fuse

import "testing"

// Names of tensors are parsed in TensorFlow's format.
func TestTensorNames(t *testing.T) {
	for text, want := range map[string]TensorName{
		"a": {"a", 0}, "a:0": {"a", 0}, "a/b:12": {"a/b", 12}, "^a/b": {"a/b", -1}, "a:x": {"a:x", 0}, "": {"", 0},
	} {
		if got := ParseTensorName(text); got != want {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
}
