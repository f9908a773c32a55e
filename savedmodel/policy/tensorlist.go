package policy

import (
	"google.golang.org/protobuf/encoding/protowire"

	"millrace/dtype"
	"millrace/internal/base/tfproto"
	"millrace/internal/base/wire"
	"millrace/savedmodel/message"
	"millrace/savedmodel/metagraph"
)

// TensorFlow writes a list of tensors (TensorListReserve, folded to a constant) as a
// VariantTensorDataProto: the existing tensors, and a few numbers about them that its
// parser does not check. A count that is too large ends the process, and so does a
// dtype that the tensors do not have, in the kernel that reads them. The numbers are
// varints:
//
//	count   of the missing elements
//	index   of each missing element, ascending
//	dtype   of all elements
//	limit   of the number of elements; 2^64-1: none
//	...     the shape of all elements: a TensorShapeProto

// Field numbers of VariantTensorDataProto, TensorShapeProto and its Dim.
const (
	variantType, variantMetadata, variantTensors = 1, 2, 3
	tensorShape                                  = 2
	shapeDim, shapeUnknown                       = 2, 3
	dimSize                                      = 1
)

const (
	tensorListType  = "tensorflow::TensorList"
	maxListElements = 1 << 20
	maxRank         = 254
)

var tensorShapeType = message.TypeOf(&tfproto.TensorShapeProto{})

// checkTensorList returns the fault of a list of tensors, "" if it is valid.
func checkTensorList(list []byte) string {
	var numbers []byte
	var tensors [][]byte
	for f := range wire.Fields(list) {
		switch f.Num {
		case variantMetadata:
			numbers = f.Bytes
		case variantTensors:
			tensors = append(tensors, f.Bytes)
		}
	}
	next := func(limit uint64) (v uint64, ok bool) {
		v, n := protowire.ConsumeVarint(numbers)
		if n < 0 || v > limit && v != 1<<64-1 {
			return 0, false
		}
		numbers = numbers[n:]
		return v, true
	}
	absent, ok := next(maxListElements)
	if !ok || absent > maxListElements {
		return "it does not say how many tensors it has"
	}
	all := uint64(len(tensors)) + absent
	for least := uint64(0); absent > 0; absent-- {
		i, ok := next(all - 1)
		if !ok || i < least || i >= all {
			return "its elements have no order"
		}
		least = i + 1
	}
	typ, ok := next(1<<31 - 1)
	_, limited := next(1<<31 - 1)
	if !ok || !limited || !dtype.DataType(int32(typ)).Known() {
		return "it does not say what its elements are"
	}
	return checkElements(tensors, int32(typ), numbers)
}

// checkElements compares the tensors of a list with the dtype and the shape of the
// list.
func checkElements(tensors [][]byte, typ int32, shape []byte) string {
	var walk message.Checker
	if walk.Whole(shape, tensorShapeType()) != nil {
		return "the shape of its elements is damaged"
	}
	want, known, ok := dimensions(shape)
	if !ok {
		return "its elements have a shape that no tensor has"
	}
	for _, t := range tensors {
		is, _ := message.Find(t, metagraph.TensorType)
		has, _ := message.Find(t, tensorShape)
		dims, _, ok := dimensions(has.Bytes)
		if int32(is.Number) != typ || !ok || known && !fits(dims, want) {
			return "a tensor in it has another dtype or shape than the list says"
		}
	}
	return ""
}

// dimensions returns the sizes in a TensorShapeProto, -1 for unknown ones. known is
// false if their number is unknown, ok is false for impossible sizes.
func dimensions(shape []byte) (sizes []int64, known, ok bool) {
	known, elements := true, int64(1)
	for f := range wire.Fields(shape) {
		switch f.Num {
		case shapeUnknown:
			known = f.Number == 0
		case shapeDim:
			size, _ := message.Find(f.Bytes, dimSize)
			n := int64(size.Number)
			if n < -1 || n > 1<<31 || len(sizes) == maxRank {
				return nil, false, false
			}
			if n > 0 {
				elements *= n
			}
			if elements > 1<<31 {
				return nil, false, false
			}
			sizes = append(sizes, n)
		}
	}
	return sizes, known, known || len(sizes) == 0
}

// fits reports whether a tensor's sizes match a shape, as far as the shape is known.
func fits(sizes, shape []int64) bool {
	if len(sizes) != len(shape) {
		return false
	}
	for i, n := range shape {
		if n >= 0 && sizes[i] != n {
			return false
		}
	}
	return true
}
