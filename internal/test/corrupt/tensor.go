package corrupt

import (
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
)

// Tensor returns a serialized TensorProto with the given shape.
func Tensor(t *tfproto.TensorProto, dims ...int64) []byte {
	t.TensorShape = &tfproto.TensorShapeProto{}
	for _, n := range dims {
		t.TensorShape.Dim = append(t.TensorShape.Dim, &tfproto.TensorShapeProto_Dim{Size: n})
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(t)
	if err != nil {
		panic(err) // no string in it is cut
	}
	return b
}

// Floats returns a serialized TensorProto of a vector.
func Floats(values ...float32) []byte {
	return Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, FloatVal: values}, int64(len(values)))
}

// Ints returns a serialized TensorProto of int64s of a shape.
func Ints(dims []int64, values ...int64) []byte {
	return Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_INT64, Int64Val: values}, dims...)
}

// LyingVariant is a serialized TensorProto of a list that claims 2^62 elements. It
// ends the process of a model that parses it without a check.
func LyingVariant() []byte {
	return Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_VARIANT, VariantVal: []*tfproto.VariantTensorDataProto{{
		TypeName: "tensorflow::TensorList", Metadata: protowire.AppendVarint(nil, 1<<62),
	}}})
}

// tensors are the serialized TensorProtos that mutations start from.
func tensors() [][]byte {
	four := []byte{1, 2, 3, 4}
	return [][]byte{
		Floats(1, 2, 3), Floats(), Ints([]int64{2, 2}, 1, 2, 3, -4), LyingVariant(),
		Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, TensorContent: four}, 1),
		Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, FloatVal: []float32{1}}, 2, 3),
		Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_STRING, StringVal: [][]byte{four, nil}}, 2),
		Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_HALF, HalfVal: []int32{1, 2}}, 2),
		Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_BOOL, BoolVal: []bool{true}}),
		Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_RESOURCE, ResourceHandleVal: []*tfproto.ResourceHandleProto{{Name: "x"}}}),
	}
}

// numbers are values for fields of a TensorProto.
var numbers = []uint64{0, 1, 2, 7, 20, 21, 127, 128, 1 << 20, 1 << 31, 1<<31 - 1, 1 << 32, 1<<32 + 1, 1 << 40, 1 << 62, 1<<63 - 1, 1 << 63, 1<<64 - 1}

// MutateTensor returns a serialized TensorProto with some changes: fields of other
// messages, wrong numbers, flipped bits, a cut.
func MutateTensor(rng *rand.Rand) []byte {
	seeds := tensors()
	b := seeds[rng.IntN(len(seeds))]
	for range 1 + rng.IntN(4) {
		number := numbers[rng.IntN(len(numbers))]
		switch rng.IntN(7) {
		case 0: // the fields of two messages in one
			b = slices.Concat(b, seeds[rng.IntN(len(seeds))])
		case 1: // another dtype
			b = protowire.AppendVarint(append(b, 1<<3), uint64(rng.IntN(40)))
		case 2: // one more dimension
			dim := protowire.AppendVarint([]byte{1 << 3}, number)
			shape := protowire.AppendBytes([]byte{2<<3 | 2}, dim)
			b = protowire.AppendBytes(append(b, 2<<3|2), shape)
		case 3: // an unknown field, or a field of another wire type
			b = protowire.AppendTag(b, protowire.Number(1+rng.IntN(20)), protowire.VarintType)
			b = protowire.AppendVarint(b, number)
		case 4:
			if len(b) > 0 {
				b = slices.Clone(b)
				b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
			}
		case 5:
			b = slices.Clone(b[:rng.IntN(len(b)+1)])
		case 6: // content of another length
			b = protowire.AppendBytes(append(b, 4<<3|2), make([]byte, rng.IntN(20)))
		}
	}
	return b
}
