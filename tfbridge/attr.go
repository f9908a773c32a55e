package tfbridge

// #include "capi.h"
import "C"

import (
	"slices"
	"unsafe"
)

// The kinds of attribute that TF_AttrMetadata distinguishes.
const (
	attrString C.TF_AttrType = iota
	attrInt
	attrFloat
	attrBool
	attrType
	attrShape
	attrTensor
	attrPlaceholder
	attrFunc
)

// Attr returns the value of an attribute: a string, int64, float32, bool,
// DataType, Shape or *Tensor, which the caller closes, a FuncName, or a slice
// of these. An attribute of any other type is returned as an AttrProto.
//
// It wraps TF_OperationGetAttrMetadata and the functions for each type.
func (o *Operation) Attr(name string) (any, error) {
	if err := o.hold(); err != nil {
		return nil, err
	}
	defer o.g.release()
	if err := checkNames("attribute", name); err != nil {
		return nil, err
	}
	r := attrReader{op: o}
	defer r.free()
	r.name = r.add(name)
	err := check("TF_OperationGetAttrMetadata", func(st *C.TF_Status) {
		r.meta = C.TF_OperationGetAttrMetadata(o.ptr(), r.name, st)
	})
	if err != nil {
		return nil, err
	}
	if r.meta.is_list == 1 {
		return r.list()
	}
	return r.single()
}

// AttrNames returns the names of the attributes, sorted.
//
// It wraps TF_OperationGetAttrName.
func (o *Operation) AttrNames() []string {
	if o.hold() != nil {
		return nil
	}
	defer o.g.release()
	names := make([]string, 0, C.TF_OperationGetNumAttrs(o.ptr()))
	for i := range C.int(cap(names)) {
		name := make([]byte, max(C.TF_OperationGetAttrNameLength(o.ptr(), i), 0)+1)
		err := check("TF_OperationGetAttrName", func(st *C.TF_Status) {
			C.TF_OperationGetAttrName(o.ptr(), i, (*C.char)(unsafe.Pointer(&name[0])), st)
		})
		if err == nil {
			names = append(names, string(name[:len(name)-1]))
		}
	}
	slices.Sort(names)
	return names
}

// attrReader reads one attribute of an operation.
type attrReader struct {
	cstrings
	op   *Operation
	name *C.char
	meta C.TF_AttrMetadata
}

// single reads an attribute that is not a list.
func (r *attrReader) single() (any, error) {
	op := r.op.ptr()
	switch r.meta._type {
	case attrString:
		b := make([]byte, r.meta.total_size)
		err := check("TF_OperationGetAttrString", func(st *C.TF_Status) {
			C.TF_OperationGetAttrString(op, r.name, unsafe.Pointer(unsafe.SliceData(b)), C.size_t(len(b)), st)
		})
		return string(b), err
	case attrInt:
		var v C.int64_t
		err := check("TF_OperationGetAttrInt", func(st *C.TF_Status) { C.TF_OperationGetAttrInt(op, r.name, &v, st) })
		return int64(v), err
	case attrFloat:
		var v C.float
		err := check("TF_OperationGetAttrFloat", func(st *C.TF_Status) { C.TF_OperationGetAttrFloat(op, r.name, &v, st) })
		return float32(v), err
	case attrBool:
		var v C.uchar
		err := check("TF_OperationGetAttrBool", func(st *C.TF_Status) { C.TF_OperationGetAttrBool(op, r.name, &v, st) })
		return v == 1, err
	case attrType:
		var v C.TF_DataType
		err := check("TF_OperationGetAttrType", func(st *C.TF_Status) { C.TF_OperationGetAttrType(op, r.name, &v, st) })
		return DataType(v), err
	case attrShape:
		return r.shape()
	case attrTensor:
		return r.tensor()
	}
	return r.proto()
}

// shape reads a shape; total_size is its rank, -1 for an unknown one.
func (r *attrReader) shape() (any, error) {
	if r.meta.total_size < 0 {
		return Shape{}, nil
	}
	dims := make([]int64, r.meta.total_size)
	err := check("TF_OperationGetAttrShape", func(st *C.TF_Status) {
		C.TF_OperationGetAttrShape(r.op.ptr(), r.name, (*C.int64_t)(unsafe.SliceData(dims)), C.int(len(dims)), st)
	})
	return MakeShape(dims...), err
}

// tensor reads a tensor.
func (r *attrReader) tensor() (any, error) {
	var p *C.TF_Tensor
	err := check("TF_OperationGetAttrTensor", func(st *C.TF_Status) {
		C.TF_OperationGetAttrTensor(r.op.ptr(), r.name, &p, st)
	})
	if err != nil {
		return nil, err
	}
	return adoptTensor(p), nil
}

// proto reads an attribute as a serialized AttrValue. It returns the name of a
// function as a FuncName.
func (r *attrReader) proto() (any, error) {
	raw, err := bufferBytes("TF_OperationGetAttrValueProto", func(b *C.TF_Buffer, st *C.TF_Status) {
		C.TF_OperationGetAttrValueProto(r.op.ptr(), r.name, b, st)
	})
	if err != nil {
		return nil, err
	}
	return parseFuncs(raw), nil
}

// emptyLists are the values of empty lists by their type.
var emptyLists = map[string]any{
	"list(string)": []string(nil), "list(int)": []int64(nil), "list(float)": []float32(nil), "list(bool)": []bool(nil),
	"list(type)": []DataType(nil), "list(shape)": []Shape(nil), "list(tensor)": []*Tensor(nil), "list(func)": []FuncName(nil),
}

// empty reads a list that TensorFlow describes as empty: an empty list, whose
// element type TensorFlow does not always give, or a list of functions.
func (r *attrReader) empty() (any, error) {
	v, err := r.proto()
	if _, ok := v.([]FuncName); ok || err != nil {
		return v, err
	}
	if list, ok := emptyLists[r.op.g.attrTypes(r.op.Type())[C.GoString(r.name)]]; ok {
		return list, nil
	}
	return v, nil
}

// list reads an attribute that is a list.
func (r *attrReader) list() (any, error) {
	n := C.int(r.meta.list_size)
	op := r.op.ptr()
	if n <= 0 {
		return r.empty()
	}
	switch r.meta._type {
	case attrString:
		return r.strings()
	case attrInt:
		v := make([]int64, n)
		err := check("TF_OperationGetAttrIntList", func(st *C.TF_Status) {
			C.TF_OperationGetAttrIntList(op, r.name, (*C.int64_t)(unsafe.SliceData(v)), n, st)
		})
		return v, err
	case attrFloat:
		v := make([]float32, n)
		err := check("TF_OperationGetAttrFloatList", func(st *C.TF_Status) {
			C.TF_OperationGetAttrFloatList(op, r.name, (*C.float)(unsafe.SliceData(v)), n, st)
		})
		return v, err
	case attrBool:
		v := make([]bool, n)
		err := check("TF_OperationGetAttrBoolList", func(st *C.TF_Status) {
			C.TF_OperationGetAttrBoolList(op, r.name, (*C.uchar)(unsafe.Pointer(unsafe.SliceData(v))), n, st)
		})
		return v, err
	case attrType:
		v := make([]DataType, n)
		err := check("TF_OperationGetAttrTypeList", func(st *C.TF_Status) {
			C.TF_OperationGetAttrTypeList(op, r.name, (*C.TF_DataType)(unsafe.Pointer(unsafe.SliceData(v))), n, st)
		})
		return v, err
	case attrShape:
		return r.shapes()
	case attrTensor:
		return r.tensors()
	}
	return r.proto()
}

// strings reads a list of strings.
func (r *attrReader) strings() (any, error) {
	n := int(r.meta.list_size)
	out := make([]string, n)
	// C writes pointers into storage, so both are C memory.
	ptrs := (*unsafe.Pointer)(C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(uintptr(0)))))
	defer C.free(unsafe.Pointer(ptrs))
	storage := C.calloc(C.size_t(r.meta.total_size+1), 1)
	defer C.free(storage)
	lens := make([]C.size_t, n)
	err := check("TF_OperationGetAttrStringList", func(st *C.TF_Status) {
		C.TF_OperationGetAttrStringList(r.op.ptr(), r.name, ptrs, unsafe.SliceData(lens), C.int(n), storage, C.size_t(r.meta.total_size), st)
	})
	if err != nil {
		return nil, err
	}
	for i, p := range unsafe.Slice(ptrs, n) {
		out[i] = string(unsafe.Slice((*byte)(p), lens[i]))
	}
	return out, nil
}

// shapes reads a list of shapes.
func (r *attrReader) shapes() (any, error) {
	n := int(r.meta.list_size)
	out := make([]Shape, n)
	ptrs := (**C.int64_t)(C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(uintptr(0)))))
	defer C.free(unsafe.Pointer(ptrs))
	storage := (*C.int64_t)(C.calloc(C.size_t(r.meta.total_size+1), 8))
	defer C.free(unsafe.Pointer(storage))
	ranks := make([]C.int, n)
	err := check("TF_OperationGetAttrShapeList", func(st *C.TF_Status) {
		C.TF_OperationGetAttrShapeList(r.op.ptr(), r.name, ptrs, unsafe.SliceData(ranks), C.int(n), storage, C.int(r.meta.total_size), st)
	})
	if err != nil {
		return nil, err
	}
	for i, p := range unsafe.Slice(ptrs, n) {
		if ranks[i] >= 0 {
			out[i] = MakeShape(unsafe.Slice((*int64)(p), ranks[i])...)
		}
	}
	return out, nil
}

// tensors reads a list of tensors.
func (r *attrReader) tensors() (any, error) {
	ptrs := make([]*C.TF_Tensor, r.meta.list_size)
	err := check("TF_OperationGetAttrTensorList", func(st *C.TF_Status) {
		C.TF_OperationGetAttrTensorList(r.op.ptr(), r.name, unsafe.SliceData(ptrs), C.int(len(ptrs)), st)
	})
	if err != nil {
		return nil, err
	}
	out := make([]*Tensor, len(ptrs))
	for i, p := range ptrs {
		out[i] = adoptTensor(p)
	}
	return out, nil
}
