package example

import (
	"encoding/binary"
	"reflect"
	"slices"
	"unsafe"

	"millrace"
	"millrace/dtype"
)

// layout is the memory layout of a field's elements.
type layout struct {
	elem   reflect.Type
	count  int     // consecutive elements: the product of the arrays' lengths
	slice  bool    // a slice of such rows
	ragged bool    // a slice of slices of single elements
	size   []int64 // the lengths of the arrays
}

// writer writes a field at an address.
type writer = func(b []byte, at unsafe.Pointer) []byte

// planField returns how to write a field, as the feature or feature list of a name.
func planField(f reflect.StructField, name string, options []string) (*FieldSpec, writer, error) {
	spec := &FieldSpec{Name: name}
	for _, o := range options {
		switch o {
		case "list":
			spec.List = true
		case "raw":
			spec.Raw = true
		default:
			return nil, nil, millrace.Errorf(millrace.ErrSchema, "the tag has the option %q; there are list and raw", o)
		}
	}
	l, err := layoutOf(f.Type, spec)
	if err != nil {
		return nil, nil, err
	}
	write := writerOf(l, spec)
	if write == nil {
		return nil, nil, unwritable(f.Type)
	}
	return spec, write, nil
}

func unwritable(t reflect.Type) error {
	return millrace.Errorf(millrace.ErrSchema, "a feature cannot hold a %v: want bools, numbers, strings or []byte, alone, in arrays or in a slice; leave it out with the tag `%s:\"-\"`", t, TagKey)
}

var byteString = reflect.TypeFor[[]byte]()

// isBytes reports whether values of a type are byte strings.
func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == byteString.Elem().Kind()
}

// layoutOf returns the layout of a type, and fills in the shape.
func layoutOf(t reflect.Type, spec *FieldSpec) (*layout, error) {
	l := &layout{elem: t, count: 1}
	if t.Kind() == reflect.Slice && (!isBytes(t) || spec.List) {
		l.slice, l.elem = true, t.Elem()
		if spec.List && l.elem.Kind() == reflect.Slice && !isBytes(l.elem) {
			l.ragged, l.elem = true, l.elem.Elem()
		}
	}
	for l.elem.Kind() == reflect.Array {
		l.size = append(l.size, int64(l.elem.Len()))
		l.count, l.elem = l.count*l.elem.Len(), l.elem.Elem()
	}
	switch {
	case spec.List && !l.slice:
		return nil, millrace.Errorf(millrace.ErrSchema, "the tag says list, but %v is no slice", t)
	case spec.Raw && (spec.List || l.slice || len(l.size) == 0):
		return nil, millrace.Errorf(millrace.ErrSchema, "the tag says raw, but %v is no array of numbers", t)
	case l.count == 0:
		return nil, millrace.Errorf(millrace.ErrSchema, "%v holds no values", t)
	case l.ragged && len(l.size) > 0:
		return nil, unwritable(t)
	}
	spec.Shape = slices.Clone(l.size)
	if spec.Shape == nil {
		spec.Shape = []int64{}
	}
	if l.ragged || l.slice && !spec.List {
		spec.Shape = append([]int64{-1}, spec.Shape...)
	}
	return l, nil
}

// writerOf returns the function that writes a field, nil if a feature cannot store its
// elements, and fills in their kind and type.
func writerOf(l *layout, spec *FieldSpec) writer {
	if spec.Raw {
		return rawWriter(l, spec)
	}
	if isBytes(l.elem) {
		return writes(l, spec, dtype.String, Bytes, appendTexts[[]byte])
	}
	switch l.elem.Kind() {
	case reflect.String:
		return writes(l, spec, dtype.String, Bytes, appendTexts[string])
	case reflect.Bool:
		return writes(l, spec, dtype.Bool, Int64, appendBools)
	case reflect.Float32:
		return writes(l, spec, dtype.Float, Float, appendFloats[float32])
	case reflect.Float64:
		return writes(l, spec, dtype.Float, Float, appendFloats[float64])
	}
	return integerWriter(l, spec)
}

// integerWriter is writerOf for integers.
func integerWriter(l *layout, spec *FieldSpec) writer {
	switch l.elem.Kind() {
	case reflect.Int:
		return writes(l, spec, dtype.Int64, Int64, appendInts[int])
	case reflect.Int8:
		return writes(l, spec, dtype.Int8, Int64, appendInts[int8])
	case reflect.Int16:
		return writes(l, spec, dtype.Int16, Int64, appendInts[int16])
	case reflect.Int32:
		return writes(l, spec, dtype.Int32, Int64, appendInts[int32])
	case reflect.Int64:
		return writes(l, spec, dtype.Int64, Int64, appendInts[int64])
	case reflect.Uint:
		return writes(l, spec, dtype.Uint64, Int64, appendInts[uint])
	case reflect.Uint8:
		return writes(l, spec, dtype.Uint8, Int64, appendInts[uint8])
	case reflect.Uint16:
		return writes(l, spec, dtype.Uint16, Int64, appendInts[uint16])
	case reflect.Uint32:
		return writes(l, spec, dtype.Uint32, Int64, appendInts[uint32])
	case reflect.Uint64:
		return writes(l, spec, dtype.Uint64, Int64, appendInts[uint64])
	}
	return nil
}

// writes returns the function that writes a field with elements of type E, and fills in
// their kind and type.
func writes[E any](l *layout, spec *FieldSpec, d dtype.DataType, kind Kind, one func([]byte, place, []E) []byte) writer {
	spec.DType, spec.Kind = d, kind
	n := l.count
	p := place{name: spec.Name, step: spec.List}
	if !l.ragged && (spec.List || !l.slice) {
		p.keepHeadsOf(kind, d == dtype.Bool, n)
	}
	switch {
	case l.ragged:
		return func(b []byte, at unsafe.Pointer) []byte {
			b, list := beginList(b, p.name)
			for _, step := range *(*[][]E)(at) {
				b = one(b, p, step)
			}
			return list.end(b)
		}
	case spec.List:
		return func(b []byte, at unsafe.Pointer) []byte {
			b, list := beginList(b, p.name)
			rows := elements[E](at, n)
			for ; len(rows) > 0; rows = rows[n:] {
				b = one(b, p, rows[:n])
			}
			return list.end(b)
		}
	case l.slice:
		return func(b []byte, at unsafe.Pointer) []byte { return one(b, p, elements[E](at, n)) }
	}
	return func(b []byte, at unsafe.Pointer) []byte { return one(b, p, unsafe.Slice((*E)(at), n)) }
}

// keepHeadsOf keeps the possible heads of n values of a type, if there are only a few.
func (p *place) keepHeadsOf(kind Kind, bools bool, n int) {
	switch {
	case kind == Float:
		p.keepHeads(tagBytes2, 4*n, 1)
	case bools:
		p.keepHeads(tagBytes3, n, 1)
	case kind == Int64 && n == 1:
		p.keepHeads(tagBytes3, 1, binary.MaxVarintLen64)
	}
}

// elements returns all elements of a slice at an address; each of the slice's own
// elements is an array of n of them.
func elements[E any](at unsafe.Pointer, n int) []E {
	rows := *(*[]E)(at) // the length is the number of arrays
	return unsafe.Slice(unsafe.SliceData(rows), len(rows)*n)
}

// rawWriter is writerOf for an array whose bytes become one byte string.
func rawWriter(l *layout, spec *FieldSpec) writer {
	spec.Kind = Bytes
	plain := *spec
	if isBytes(l.elem) || l.elem.Kind() == reflect.String || writerOf(l, withoutRaw(&plain)) == nil {
		return nil
	}
	spec.DType = plain.DType
	if l.elem.Kind() == reflect.Float64 {
		spec.DType = dtype.Double
	}
	size := l.count * int(l.elem.Size())
	p := place{name: spec.Name}
	return func(b []byte, at unsafe.Pointer) []byte {
		one := [1][]byte{unsafe.Slice((*byte)(at), size)}
		return appendTexts(b, p, one[:])
	}
}

func withoutRaw(spec *FieldSpec) *FieldSpec {
	spec.Raw = false
	return spec
}

// NativeEndian is the byte order of this machine, by its name in manifests: "little" or
// "big". Features of [FieldSpec.Raw] have it.
func NativeEndian() string {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return "little"
	}
	return "big"
}
