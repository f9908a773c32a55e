package graph_test

import (
	"errors"
	"slices"
	"testing"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/corrupt"
	"millrace/tfbridge"
)

// hostile lists bytes that signatures of the model "payloads" must not parse.
var hostile = []struct {
	name, signature string
	bytes           []byte
	class           millrace.Class
}{
	{"variant", "single", corrupt.LyingVariant(), millrace.ErrSchema},
	{"variant in a loop", "", corrupt.LyingVariant(), millrace.ErrSchema},
	{"variant in a dataset", "dataset", corrupt.LyingVariant(), millrace.ErrSchema},
	{"a repeated float", "single", corrupt.Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, FloatVal: []float32{1}}, 1<<40), millrace.ErrLimit},
	{"a repeated string", "texts", corrupt.Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_STRING, StringVal: [][]byte{make([]byte, 1<<20)}}, 1<<20), millrace.ErrLimit},
	{"a BMP from the top", "image_float", corrupt.TopDownBMP(), millrace.ErrSchema},
	{"another dtype", "single", corrupt.Ints([]int64{1}, 1), millrace.ErrSchema},
}

// TestModelsParseNoHostileBytes gives a model bytes that end the process or take all
// memory in TensorFlow: each run fails with an error that names the element, and later
// runs succeed.
func TestModelsParseNoHostileBytes(t *testing.T) {
	m := load(t, "payloads", nil)
	for _, test := range hostile {
		t.Run(test.name, func(t *testing.T) {
			input := any(test.bytes)
			if test.signature == "" || test.signature == "dataset" {
				input = [][]byte{corrupt.Floats(1), test.bytes}
			}
			_, err := m.Call(t.Context(), test.signature, map[string]any{"x": input})
			var refused *tfbridge.RefusedBytes
			if !errors.As(err, &refused) || !errors.Is(err, tfbridge.InvalidArgument) || !errors.Is(err, test.class) {
				t.Errorf("got %v", err)
			}
		})
	}
	if image, err := m.Call(t.Context(), "image", map[string]any{"x": corrupt.TopDownBMP()}); err != nil {
		t.Errorf("a BMP from the top as uint8: %v", err)
	} else {
		image["shape"].Close()
	}
	got, err := m.Call(t.Context(), "", map[string]any{"x": [][]byte{corrupt.Floats(1, 2), corrupt.Floats(4)}})
	if err != nil {
		t.Fatal(err)
	}
	defer got["y"].Close()
	if y, _ := tfbridge.View[float32](got["y"]); !slices.Equal(y, []float32{3, 4}) {
		t.Errorf("sums %v, want 3, 4", y)
	}
}
