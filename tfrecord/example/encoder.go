package example

import (
	"reflect"
	"strings"
	"unsafe"

	"millrace"
	"millrace/dtype"
)

// # How structs are written
//
// The question: reflection takes some 30 ns a field and allocates for most of them, as
// much as writing the whole record takes. But what it finds out is the same for each
// value of a type.
//
// So [NewEncoder] looks at the type once, with package reflect, and makes a function
// for each field. That function is compiled for the type of the field's elements, and
// takes the address of the field: the address of the struct and the offset that
// reflect told. A conversion of that pointer is safe because reflect has told what is
// there: elements of this kind, and so many of them. The elements of an array of
// arrays lie one behind the other.
//
//	struct   | Label int32 | pad | Pixels [28][28]float32 ...        |
//	           ^ offset 0          ^ offset 8: 784 float32 in a row

// TagKey is the key of the struct tags that [NewEncoder] reads.
const TagKey = "example"

// Encoder writes values of a struct type as Examples, or as SequenceExamples if one
// of the fields is a feature list. It may be used concurrently.
type Encoder[T any] struct {
	context, lists []structField
	specs          []FieldSpec
}

// FieldSpec describes the feature that a field of a struct is written to.
type FieldSpec struct {
	Name  string
	Kind  Kind           // of the list that holds the values
	DType dtype.DataType // of the values in the struct
	Shape []int64        // of a feature, or of one step of a feature list; -1: any number
	List  bool           // a feature list, with a feature for each step
	Raw   bool           // one byte string holds the values, in the byte order of this machine
}

// structField writes one field of a struct; at is the address of the field.
type structField struct {
	offset uintptr
	name   string
	write  func(b []byte, name string, at unsafe.Pointer) []byte
}

// NewEncoder returns the Encoder of a struct type. Each exported field becomes a
// feature of the field's name; a tag gives it another name, options, or leaves it out:
//
//	type Song struct {
//		Title   string      `example:"title"`
//		Labels  []int32     `example:"labels"`
//		Cover   [64]uint8   `example:"cover,raw"`
//		Frames  [][40]float32 `example:"frames,list"`
//		Path    string      `example:"-"`
//	}
//
// A field holds bools, integers, floats, strings or byte strings ([]byte): one of
// them, an array, an array of arrays, or a slice of either. Floats are stored as 32
// bits and bools as 0 and 1. With the option "raw" the numbers of an array become one
// byte string. With "list" a slice is a feature list, in which each element is a step;
// elements may then be slices, too.
//
// An error of class [millrace.ErrSchema] names the field that cannot be written.
func NewEncoder[T any]() (*Encoder[T], error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, millrace.Errorf(millrace.ErrSchema, "an Encoder writes structs, and %v is none", t)
	}
	e := &Encoder[T]{}
	names := make(map[string]string)
	for i := range t.NumField() {
		f := t.Field(i)
		name, options := tagOf(f)
		if name == "-" || !f.IsExported() && f.Tag.Get(TagKey) == "" {
			continue
		}
		spec, write, err := planField(f, options)
		if err == nil && names[name] != "" {
			err = millrace.Errorf(millrace.ErrSchema, "field %s has the same name", names[name])
		}
		if err != nil {
			return nil, fieldError(t, f, name, err)
		}
		names[name], spec.Name = f.Name, name
		e.add(structField{f.Offset, name, write}, *spec)
	}
	if len(e.specs) == 0 {
		return nil, millrace.Errorf(millrace.ErrSchema, "%v has no field to write", t)
	}
	return e, nil
}

// add adds a field.
func (e *Encoder[T]) add(f structField, spec FieldSpec) {
	if spec.List {
		e.lists = append(e.lists, f)
	} else {
		e.context = append(e.context, f)
	}
	e.specs = append(e.specs, spec)
}

// tagOf returns the name of a field's feature and the options of its tag.
func tagOf(f reflect.StructField) (name string, options []string) {
	parts := strings.Split(f.Tag.Get(TagKey), ",")
	if parts[0] == "" {
		return f.Name, parts[1:]
	}
	return parts[0], parts[1:]
}

// fieldError names the field that an error is about.
func fieldError(t reflect.Type, f reflect.StructField, name string, err error) error {
	e := millrace.Errorf(millrace.ErrSchema, "field %s of %v: %w", f.Name, t, err)
	e.Feature = name
	return e
}

// Specs describes the features, in the order of the fields. The caller must not change
// them.
func (e *Encoder[T]) Specs() []FieldSpec { return e.specs }

// Sequence reports whether the records are SequenceExamples.
func (e *Encoder[T]) Sequence() bool { return len(e.lists) > 0 }

// Append appends the record of a value to b. It allocates only if b is too small.
func (e *Encoder[T]) Append(b []byte, value *T) []byte {
	at := unsafe.Pointer(value)
	if len(e.context) > 0 {
		b = appendFields(b, tagBytes1, e.context, at)
	}
	if len(e.lists) > 0 {
		b = appendFields(b, tagBytes2, e.lists, at)
	}
	return b
}

// appendFields appends a field that holds the features of these fields of a struct.
func appendFields(b []byte, tag byte, fields []structField, at unsafe.Pointer) []byte {
	b, start := begin(b, tag)
	for i := range fields {
		f := &fields[i]
		b = f.write(b, f.name, unsafe.Add(at, f.offset))
	}
	return end(b, start)
}
