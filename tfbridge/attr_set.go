package tfbridge

// #include "capi.h"
import "C"

import (
	"math"
	"unsafe"

	"millrace"
)

// FuncName is an attribute value that names a function of the graph.
type FuncName string

// AttrProto is an attribute value as a serialized AttrValue message, for values without
// a Go type.
type AttrProto []byte

// desc shortens the signatures below.
type desc = *C.TF_OperationDescription

// attr prepares one attribute.
func (b *opBuilder) attr(name string, value any) error {
	err := checkNames("attribute", name)
	if err == nil {
		err = b.attrValue(b.add(name), value)
	}
	if err != nil {
		return millrace.Errorf(millrace.ErrModel, "attribute %q: %w", name, err)
	}
	return nil
}

// attrValue prepares the value of the attribute a.
func (b *opBuilder) attrValue(a *C.char, value any) error {
	switch v := value.(type) {
	case string:
		if len(v) > maxProto {
			return errAttrSize(len(v))
		}
		b.step(func(d desc) { C.TF_SetAttrString(d, a, b.bytes(v), C.size_t(len(v))) })
	case int:
		b.step(func(d desc) { C.TF_SetAttrInt(d, a, C.int64_t(v)) })
	case int64:
		b.step(func(d desc) { C.TF_SetAttrInt(d, a, C.int64_t(v)) })
	case float32:
		b.step(func(d desc) { C.TF_SetAttrFloat(d, a, C.float(v)) })
	case bool:
		b.step(func(d desc) { C.TF_SetAttrBool(d, a, cbool(v)) })
	case FuncName:
		b.step(func(d desc) { C.TF_SetAttrFuncName(d, a, (*C.char)(b.bytes(string(v))), C.size_t(len(v))) })
	case AttrProto:
		if len(v) > maxProto {
			return errAttrSize(len(v))
		}
		b.proto(a, v)
	case DataType:
		return b.types(a, []DataType{v}, false)
	case Shape:
		return b.shape(a, v)
	case *Tensor:
		return b.tensorList(a, []*Tensor{v}, false)
	default:
		return b.attrList(a, value)
	}
	return nil
}

// errAttrSize returns the error for a value too large for a graph: a graph is a
// protobuf message, whose size is limited.
func errAttrSize(n int) error {
	return millrace.Errorf(millrace.ErrLimit, "a value of %d bytes; a graph holds at most %d: read it from files, or feed it", n, maxProto)
}

// attrList prepares the value of an attribute of list type.
func (b *opBuilder) attrList(a *C.char, value any) error {
	if n := listLen(value); n > math.MaxInt32 {
		return millrace.Errorf(millrace.ErrLimit, "list of %d values", n)
	}
	switch v := value.(type) {
	case []string:
		b.stringList(a, v)
	case []int64:
		b.step(func(d desc) {
			C.TF_SetAttrIntList(d, a, (*C.int64_t)(unsafe.SliceData(v)), C.int(len(v)))
		})
	case []float32:
		b.step(func(d desc) {
			C.TF_SetAttrFloatList(d, a, (*C.float)(unsafe.SliceData(v)), C.int(len(v)))
		})
	case []bool:
		b.step(func(d desc) {
			C.TF_SetAttrBoolList(d, a, (*C.uchar)(unsafe.Pointer(unsafe.SliceData(v))), C.int(len(v)))
		})
	case []FuncName:
		b.proto(a, funcListProto(v))
	case []DataType:
		return b.types(a, v, true)
	case []Shape:
		return b.shapeList(a, v)
	case []*Tensor:
		return b.tensorList(a, v, true)
	default:
		return millrace.Errorf(millrace.ErrModel, "a graph cannot hold values of type %T", value)
	}
	return nil
}

// listLen returns the length of a list of one of the types an attribute has.
func listLen(value any) int {
	switch v := value.(type) {
	case []string:
		return len(v)
	case []int64:
		return len(v)
	case []float32:
		return len(v)
	case []bool:
		return len(v)
	}
	return 0 // attrList checks lists of other types element by element
}

// bytes returns the bytes of a string for one call. They are pinned or copied
// until free.
func (b *opBuilder) bytes(s string) unsafe.Pointer {
	if len(s) == 0 {
		return nil
	}
	p := unsafe.Pointer(unsafe.StringData(s))
	b.pinner.Pin((*byte)(p))
	return p
}

// stringList prepares a list of strings.
func (b *opBuilder) stringList(a *C.char, v []string) {
	ptrs, lens := make([]unsafe.Pointer, len(v)), make([]C.size_t, len(v))
	for i, s := range v {
		ptrs[i], lens[i] = b.bytes(s), C.size_t(len(s))
	}
	b.step(func(d desc) {
		C.TF_SetAttrStringList(d, a, unsafe.SliceData(ptrs), unsafe.SliceData(lens), C.int(len(v)))
	})
}

// proto prepares a value given as a serialized message.
func (b *opBuilder) proto(a *C.char, v []byte) {
	b.step(func(d desc) {
		b.try("TF_SetAttrValueProto", func(st *C.TF_Status) {
			C.TF_SetAttrValueProto(d, a, unsafe.Pointer(unsafe.SliceData(v)), C.size_t(len(v)), st)
		})
	})
}

// try makes a C call and keeps its failure.
func (b *opBuilder) try(fn string, call func(*C.TF_Status)) {
	if err := check(fn, call); err != nil {
		b.attrErrors = append(b.attrErrors, err)
	}
}

// types prepares a data type or a list of them.
func (b *opBuilder) types(a *C.char, v []DataType, list bool) error {
	for _, dt := range v {
		if !dt.Base().Known() {
			return millrace.Errorf(millrace.ErrModel, "%d is not a data type", int32(dt))
		}
	}
	if !list {
		b.step(func(d desc) { C.TF_SetAttrType(d, a, C.TF_DataType(v[0])) })
		return nil
	}
	b.step(func(d desc) {
		C.TF_SetAttrTypeList(d, a, (*C.TF_DataType)(unsafe.Pointer(unsafe.SliceData(v))), C.int(len(v)))
	})
	return nil
}

// shape prepares a shape.
func (b *opBuilder) shape(a *C.char, s Shape) error {
	if err := s.Check(); err != nil {
		return err
	}
	dims := s.Dims()
	b.step(func(d desc) {
		C.TF_SetAttrShape(d, a, (*C.int64_t)(unsafe.SliceData(dims)), C.int(s.NumDimensions()))
	})
	return nil
}

// shapeList prepares a list of shapes.
func (b *opBuilder) shapeList(a *C.char, v []Shape) error {
	dims, ranks := make([]*C.int64_t, len(v)), make([]C.int, len(v))
	for i, s := range v {
		if err := s.Check(); err != nil {
			return err
		}
		ranks[i] = C.int(s.NumDimensions())
		if known := s.Dims(); len(known) > 0 {
			p := unsafe.SliceData(known)
			b.pinner.Pin(p)
			dims[i] = (*C.int64_t)(p)
		}
	}
	b.step(func(d desc) {
		C.TF_SetAttrShapeList(d, a, unsafe.SliceData(dims), unsafe.SliceData(ranks), C.int(len(v)))
	})
	return nil
}

// tensorList prepares a tensor or a list of them.
func (b *opBuilder) tensorList(a *C.char, v []*Tensor, list bool) error {
	ptrs := make([]*C.TF_Tensor, len(v))
	for i, t := range v {
		if t == nil || !t.h.hold() {
			return errUnusable("tensor", t)
		}
		b.tensors = append(b.tensors, t)
		if t.bytes > maxProto {
			return errAttrSize(int(t.bytes))
		}
		ptrs[i] = t.h.p
	}
	b.step(func(d desc) {
		if !list {
			b.try("TF_SetAttrTensor", func(st *C.TF_Status) { C.TF_SetAttrTensor(d, a, ptrs[0], st) })
			return
		}
		b.try("TF_SetAttrTensorList", func(st *C.TF_Status) {
			C.TF_SetAttrTensorList(d, a, unsafe.SliceData(ptrs), C.int(len(ptrs)), st)
		})
	})
	return nil
}

// cbool converts a bool to C's.
func cbool(v bool) C.uchar {
	if v {
		return 1
	}
	return 0
}
