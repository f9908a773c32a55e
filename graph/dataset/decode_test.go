package dataset_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/dtype"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// into decodes a scalar to a type.
func into[T any](t *dataset.Structure, x *tfbridge.Tensor) error {
	var v T
	return dataset.Decode(t, []*tfbridge.Tensor{x}, &v)
}

// holders are the types that a scalar may be decoded to.
var holders = []struct {
	name   string
	decode func(t *dataset.Structure, x *tfbridge.Tensor) error
}{
	{"i8", into[int8]}, {"i16", into[int16]}, {"i32", into[int32]}, {"i64", into[int64]}, {"int", into[int]},
	{"u8", into[uint8]}, {"u16", into[uint16]}, {"u32", into[uint32]}, {"u64", into[uint64]}, {"uint", into[uint]},
	{"f16", into[dtype.Float16]}, {"bf16", into[dtype.BFloat16]}, {"f32", into[float32]}, {"f64", into[float64]},
	{"c64", into[complex64]}, {"c128", into[complex128]}, {"bool", into[bool]}, {"string", into[string]}, {"bytes", into[[]byte]},
	{"map", into[map[int]int64]}, {"struct", into[struct{ A int64 }]}, {"slice", into[[]int64]},
}

// A value can be decoded exactly to the types that represent every value of its type. A
// half-precision number decodes to its bits, a uint16, but not the reverse.
func TestTypesThatHold(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  string
	}{
		{int8(-1), "i8 i16 i32 i64 int f32 f64"},
		{int16(-1), "i16 i32 i64 int f32 f64"},
		{int32(-1), "i32 i64 int f64"},
		{int64(-1), "i64 int"},
		{uint8(1), "i16 i32 i64 int u8 u16 u32 u64 uint f32 f64"},
		{uint16(1), "i32 i64 int u16 u32 u64 uint f32 f64"},
		{uint32(1), "i64 int u32 u64 uint f64"},
		{uint64(1), "u64 uint"},
		{dtype.NewFloat16(1), "u16 f16 f32 f64"},
		{dtype.NewBFloat16(1), "u16 bf16 f32 f64"},
		{float32(1), "f32 f64"},
		{float64(1), "f64"},
		{complex64(1), "c64 c128"},
		{complex128(1), "c128"},
		{true, "bool"},
		{"text", "string bytes"},
	} {
		x, err := tfbridge.NewTensor(tt.value)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		var got []string
		for _, holder := range holders {
			err := holder.decode(dataset.DenseSpec(x.DataType(), tfbridge.ScalarShape()), x)
			if err == nil {
				got = append(got, holder.name)
			} else if !errors.Is(err, millrace.ErrModel) {
				t.Errorf("%T into %s: %v", tt.value, holder.name, err)
			}
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%T\n got %s\nwant %s", tt.value, got, tt.want)
		}
	}
}

// Decode allocates the targets of pointers, at leaves and above them. Ragged values keep
// their inner shape.
func TestDecodePointersAndInnerShapes(t *testing.T) {
	type row struct {
		ID     int64
		Pair   [2]int32
		Words  []string
		Clicks dataset.Sparse[float32]
		Boxes  dataset.Ragged[int32]
	}
	type inner struct{ Pair *[]int32 }
	type pointers struct {
		ID     *int64
		Pair   **[]int32
		Words  *[]string
		Clicks *dataset.Sparse[float32]
		Boxes  *dataset.Ragged[int32]
	}
	boxes := dataset.Ragged[int32]{Splits: [][]int64{{0, 2, 3}}, Values: []int32{1, 2, 3, 4, 5, 6}, Inner: []int64{2}}
	clicks := dataset.Sparse[float32]{Indices: [][]int64{{1}}, Values: []float32{5}, Shape: []int64{3}}
	s := newScope(t)
	d := dataset.FromValue(s, row{7, [2]int32{1, 2}, []string{"a"}, clicks, boxes})
	got, err := dataset.First[*pointers](t.Context(), d, nil)
	if err != nil {
		t.Fatal(err)
	}
	id, pair, words := int64(7), &[]int32{1, 2}, []string{"a"}
	if diff := cmp.Diff(&pointers{&id, &pair, &words, &clicks, &boxes}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	nested, err := dataset.First[map[string]*inner](t.Context(), dataset.FromValue(s, map[string]any{"in": map[string]any{"Pair": []int32{3}}}), nil)
	if diff := cmp.Diff(map[string]*inner{"in": {&[]int32{3}}}, nested); diff != "" || err != nil {
		t.Errorf("error %v, (-want +got)\n%s", err, diff)
	}
	for _, bad := range []error{
		decodeError[map[int]any](t, d), decodeError[int64](t, d), decodeError[[]any](t, d), decodeError[struct{ Pair *string }](t, d),
		decodeError[struct{ Boxes [][][]string }](t, d), decodeError[struct{ Boxes []int32 }](t, d), decodeError[struct{ Boxes int32 }](t, d),
		decodeError[struct{ Clicks []float32 }](t, d), decodeError[struct{ Clicks dataset.Ragged[float32] }](t, d),
		decodeError[struct{ Clicks dataset.Sparse[string] }](t, d), decodeError[struct{ Boxes dataset.Sparse[int32] }](t, d),
	} {
		if !errors.Is(bad, millrace.ErrModel) || !strings.Contains(fmt.Sprint(bad), "cannot hold") {
			t.Errorf("got %v", bad)
		}
	}
}
