package bytecheck_test

import (
	"errors"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/bytecheck"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/corrupt"
)

// join returns the fields of all messages in one.
func join(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case []byte:
			b = append(b, p...)
		case string:
			b = append(b, p...)
		}
	}
	return b
}

// long returns a field with a number in a longer encoding than necessary.
func long(num protowire.Number, v uint64) []byte {
	b := protowire.AppendTag(nil, num, protowire.VarintType)
	for range 9 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, 0)
}

var (
	one   = corrupt.Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, FloatVal: []float32{1}})
	float = "\x08\x01"
)

// content is a TensorProto with tensor_content.
func content(dt tfproto.DataType, n int, dims ...int64) []byte {
	return corrupt.Tensor(&tfproto.TensorProto{Dtype: dt, TensorContent: make([]byte, n)}, dims...)
}

// strings is a TensorProto of strings.
func strings(n int, size int, dims ...int64) []byte {
	return corrupt.Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_STRING, StringVal: slices.Repeat([][]byte{make([]byte, size)}, n)}, dims...)
}

var parseTests = []struct {
	name  string
	bytes []byte
	dtype dtype.DataType
	want  error // a class; nil: TensorFlow may parse it
}{
	{"a scalar", one, dtype.Float, nil},
	{"no bytes", nil, dtype.Float, millrace.ErrSchema},
	{"any dtype", one, 0, nil},
	{"another dtype", one, dtype.Int32, millrace.ErrSchema},
	{"dtype 0", []byte("\x08\x00"), 0, millrace.ErrSchema},
	{"a reference", []byte("\x08\x65"), 0, millrace.ErrSchema},
	{"the last dtype counts", join(one, "\x08\x03"), dtype.Int32, nil},
	{"a dtype of 33 bits", join(one, "\x08\x81\x80\x80\x80\x10"), dtype.Float, nil},
	{"a variant", corrupt.LyingVariant(), dtype.Variant, millrace.ErrSchema},
	{"a variant of any dtype", corrupt.LyingVariant(), 0, millrace.ErrSchema},
	{"a resource", []byte("\x08\x14"), dtype.Resource, millrace.ErrSchema},
	{"a variant in a float", join(one, "\x7a\x00"), dtype.Float, millrace.ErrSchema},
	{"a handle in a float", join(one, "\x72\x00"), dtype.Float, millrace.ErrSchema},
	{"a variant by a tag of 35 bits", join(one, "\xfa\x80\x80\x80\x70\x00"), dtype.Float, millrace.ErrSchema},
	{"a variant by a tag of two bytes", join(one, "\xfa\x00\x00"), dtype.Float, millrace.ErrSchema},
	{"a number where a variant would be", join(one, "\x78\x01"), dtype.Float, nil},

	{"an unknown field", join(one, "\x9a\x06\x01x"), dtype.Float, nil},
	{"a group", join(one, "\xa3\x06\x08\x01\xa4\x06"), dtype.Float, nil},
	{"a group that ends as another", join(one, "\xa3\x06\xac\x06"), dtype.Float, millrace.ErrCorrupt},
	{"a group without an end", join(one, "\xa3\x06"), dtype.Float, millrace.ErrCorrupt},
	{"groups too deep", slices.Repeat([]byte("\xa3\x06"), 1<<20), dtype.Float, millrace.ErrCorrupt},
	{"an end without a group", join(one, "\xa4\x06"), dtype.Float, millrace.ErrCorrupt},
	{"field 0", join(one, "\x00\x00"), dtype.Float, millrace.ErrCorrupt},
	{"wire type 6", join(one, "\x0e"), dtype.Float, millrace.ErrCorrupt},
	{"a tag of six bytes", join(one, "\x88\x80\x80\x80\x80\x00\x01"), dtype.Float, millrace.ErrCorrupt},
	{"a number of ten bytes", join(one, long(3, 7)), dtype.Float, nil},
	{"a number of eleven bytes", join(one, "\x18\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"), dtype.Float, millrace.ErrCorrupt},
	{"a length beyond the end", join(one, "\x22\x05abcd"), dtype.Float, millrace.ErrCorrupt},
	{"a cut fixed32", join(one, "\x2d\x00\x00"), dtype.Float, millrace.ErrCorrupt},
	{"a cut fixed64", join(one, "\x31\x00\x00"), dtype.Float, millrace.ErrCorrupt},

	{"content", content(tfproto.DataType_DT_FLOAT, 24, 2, 3), dtype.Float, nil},
	{"short content", content(tfproto.DataType_DT_FLOAT, 23, 2, 3), dtype.Float, millrace.ErrSchema},
	{"two shapes are one", join(content(tfproto.DataType_DT_FLOAT, 24, 2), "\x12\x04\x12\x02\x08\x03"), dtype.Float, nil},
	{"content of strings", content(tfproto.DataType_DT_STRING, 3, 3), dtype.String, nil},
	{"content of more strings", content(tfproto.DataType_DT_STRING, 3, 4), dtype.String, millrace.ErrSchema},

	{"repeated values", corrupt.Tensor(&tfproto.TensorProto{Dtype: 1, FloatVal: []float32{1}}, 1000), dtype.Float, nil},
	{"repeated to the limit", corrupt.Tensor(&tfproto.TensorProto{Dtype: 1}, bytecheck.DefaultLimit/4), dtype.Float, nil},
	{"repeated beyond", corrupt.Tensor(&tfproto.TensorProto{Dtype: 1}, bytecheck.DefaultLimit/4+1), dtype.Float, millrace.ErrLimit},
	{"a number of bytes beyond 63 bits", corrupt.Tensor(&tfproto.TensorProto{Dtype: 1}, 1<<31, 1<<31), dtype.Float, millrace.ErrLimit},
	{"a shape beyond 63 bits", corrupt.Tensor(&tfproto.TensorProto{Dtype: 1}, 1<<32, 1<<32), dtype.Float, millrace.ErrLimit},
	{"a negative dimension", corrupt.Tensor(&tfproto.TensorProto{Dtype: 1}, -1), dtype.Float, millrace.ErrSchema},
	{"254 dimensions", corrupt.Tensor(&tfproto.TensorProto{Dtype: 1}, slices.Repeat([]int64{1}, 254)...), dtype.Float, nil},
	{"255 dimensions", corrupt.Tensor(&tfproto.TensorProto{Dtype: 1}, slices.Repeat([]int64{1}, 255)...), dtype.Float, millrace.ErrLimit},
	{"a shape that is cut", join(float, "\x12\x03\x12\x02\x08"), dtype.Float, millrace.ErrCorrupt},
	{"a dimension that is cut", join(float, "\x12\x04\x12\x02\x08\x80"), dtype.Float, millrace.ErrCorrupt},
	{"no elements", corrupt.Tensor(&tfproto.TensorProto{Dtype: 1}, 0, 1<<40), dtype.Float, nil},
	{"all values are there", corrupt.Tensor(&tfproto.TensorProto{Dtype: 9, Int64Val: make([]int64, 1<<24)}, 1<<24), dtype.Int64, nil},

	{"strings", strings(3, 5, 3), dtype.String, nil},
	{"a million strings", strings(1<<22, 0, 1<<22), dtype.String, nil},
	{"a long string, repeated", strings(2, 1<<20, 250), dtype.String, nil},
	{"a long string, repeated too often", strings(2, 1<<20, 260), dtype.String, millrace.ErrLimit},
	{"no string, repeated", strings(0, 0, bytecheck.DefaultLimit/24+1), dtype.String, millrace.ErrLimit},
}

// TestParseTensor checks TensorProtos that TensorFlow may parse, and others that it
// must not.
func TestParseTensor(t *testing.T) {
	for _, test := range parseTests {
		spec := bytecheck.Spec{Op: "ParseTensor", DType: test.dtype}
		at, err := spec.Check([][]byte{test.bytes})
		if !errors.Is(err, test.want) || at != 0 {
			t.Errorf("%s: element %d, %v, want %v", test.name, at, err, test.want)
		}
		var known *millrace.Error
		if err != nil && (!errors.As(err, &known) || known.Code != 3) {
			t.Errorf("%s: the code of %v", test.name, err)
		}
	}
	if _, err := (bytecheck.Spec{Op: "Add"}).Check(nil); !errors.Is(err, millrace.ErrInternal) {
		t.Errorf("an operation without a check: %v", err)
	}
	small := bytecheck.Spec{Op: "ParseTensor", DType: dtype.Float, Limit: 100}
	if at, err := small.Check([][]byte{one, corrupt.Tensor(&tfproto.TensorProto{Dtype: 1}, 100)}); at != 1 || !errors.Is(err, millrace.ErrLimit) {
		t.Errorf("beyond a limit of 100 bytes: element %d, %v", at, err)
	}
}

// TestDeserializeSparse checks the three parts of sparse tensors.
func TestDeserializeSparse(t *testing.T) {
	indices, values, shape := corrupt.Ints([]int64{2, 2}, 0, 1, 1, 1), corrupt.Floats(1, 2), corrupt.Ints([]int64{2}, 3, 3)
	none := corrupt.Tensor(&tfproto.TensorProto{Dtype: 9}, 0, 2)
	tests := []struct {
		name                   string
		indices, values, shape []byte
		at                     int // the bad part; -1: none
	}{
		{"sound", indices, values, shape, -1},
		{"no values", none, corrupt.Floats(), shape, -1},
		{"indices of floats", corrupt.Tensor(&tfproto.TensorProto{Dtype: 1}, 2, 2), values, shape, 0},
		{"values of ints", indices, corrupt.Ints([]int64{2}, 1), shape, 1},
		{"a shape of floats", indices, values, corrupt.Floats(3, 3), 2},
		{"a variant", indices, corrupt.LyingVariant(), shape, 1},
		{"too few indices", corrupt.Ints([]int64{1, 2}, 0, 1), values, shape, 0},
		{"indices of another rank", corrupt.Ints([]int64{2, 1}, 0, 1), values, shape, 0},
		{"indices of one dimension", corrupt.Ints([]int64{4}, 0, 1, 1, 1), values, shape, 0},
		{"values of two dimensions", indices, corrupt.Tensor(&tfproto.TensorProto{Dtype: 1}, 2, 1), shape, 0},
		{"a negative shape", indices, values, corrupt.Ints([]int64{2}, 3, -3), 2},
		{"a shape that repeats a negative number", indices, values, corrupt.Ints([]int64{2}, -3), 2},
		{"a shape beyond 63 bits", indices, values, corrupt.Ints([]int64{2}, 1<<40), 2},
		{"a shape of content", indices, values, corrupt.Tensor(&tfproto.TensorProto{Dtype: 9, TensorContent: slices.Repeat([]byte{255}, 16)}, 2), 2},
		{"a shape of zeros", indices, values, corrupt.Tensor(&tfproto.TensorProto{Dtype: 9}, 2), -1},
	}
	for _, op := range []string{"DeserializeSparse", "DeserializeManySparse"} {
		spec := bytecheck.Spec{Op: op, DType: dtype.Float}
		for _, test := range tests {
			at, err := spec.Check([][]byte{indices, values, shape, test.indices, test.values, test.shape})
			if want := test.at + 3; err == nil != (test.at < 0) || err != nil && at != want {
				t.Errorf("%s of %s: element %d, %v, want %d", op, test.name, at, err, want)
			}
		}
	}
}
