package sigdef

import (
	"google.golang.org/protobuf/encoding/protowire"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/wire"
)

// Tensor is a tensor that a signature feeds or fetches: an input or output, or
// one component of it if it is sparse, ragged or composite.
type Tensor struct {
	dtype.TensorSpec          // Name is the key that callers use
	Node             string   // name of the tensor in the graph: "op:0"
	Encoding         Encoding // encoding of the input or output
	Whole            string   // key of the input or output that this is a component of; "": not a component
	Component        string   // name of the component: "row_splits"; "": not a component

	// Err is the reason why the tensor cannot be fetched although the signature names
	// it; nil: it can be fetched. Package savedmodel sets it.
	Err error
}

// Encoding is the way TensorFlow composes an input or output of components.
type Encoding string

// The encodings.
const (
	Dense     Encoding = ""          // one tensor
	Sparse    Encoding = "sparse"    // a tf.SparseTensor
	Ragged    Encoding = "ragged"    // a tf.RaggedTensor
	Composite Encoding = "composite" // another tf.CompositeTensor
)

// Field numbers of TensorInfo and TensorShapeProto, and of the entries of maps.
const (
	infoName, infoType, infoShape, infoSparse, infoComposite = 1, 2, 3, 4, 5

	shapeDim, shapeUnknown, dimSize = 2, 3, 1

	entryKey, entryValue = 1, 2
)

// maxDepth limits composite tensors inside others: TensorFlow's own limit on
// nested messages.
const maxDepth = 100

// ParseTensor reads a serialized TensorInfo, which does not contain the name. A sparse
// or composite one has no Node.
func ParseTensor(info []byte) (Tensor, error) {
	t := Tensor{}
	ok := wire.Each(info, func(num protowire.Number, v []byte, n uint64) (ok bool) {
		ok = true
		switch num {
		case infoName:
			t.Node = string(v)
		case infoSparse:
			t.Encoding = Sparse
		case infoComposite:
			t.Encoding = Composite
		case infoType:
			t.DType = dtype.DataType(int32(n))
		case infoShape:
			t.Shape, ok = parseShape(v)
		}
		return ok
	})
	if !ok {
		return Tensor{}, errDamaged("description of a tensor")
	}
	return t, nil
}

// ParseShape reads a serialized TensorShapeProto. A damaged message becomes an unknown
// shape.
func ParseShape(shape []byte) dtype.Shape {
	s, _ := parseShape(shape)
	return s
}

func parseShape(shape []byte) (dtype.Shape, bool) {
	dims, unknown := []int64{}, false
	ok := wire.Each(shape, func(num protowire.Number, v []byte, n uint64) bool {
		switch num {
		case shapeUnknown:
			unknown = n != 0
		case shapeDim:
			size := int64(0)
			if !wire.Each(v, func(num protowire.Number, _ []byte, n uint64) bool {
				if num == dimSize {
					size = int64(n)
				}
				return true
			}) {
				return false
			}
			dims = append(dims, size)
		}
		return true
	})
	if unknown || !ok {
		return dtype.Shape{}, ok
	}
	return dtype.MakeShape(dims...), true
}

// mapEntry reads an entry of a map from strings to messages.
func mapEntry(entry []byte) (key string, value []byte, ok bool) {
	ok = wire.Each(entry, func(num protowire.Number, v []byte, _ uint64) bool {
		switch num {
		case entryKey:
			key = string(v)
		case entryValue:
			value = v
		}
		return true
	})
	return key, value, ok
}

func errDamaged(what string) error {
	return millrace.Errorf(millrace.ErrModel, "the %s is damaged", what)
}
