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
// The question: reflection takes some 30 ns a field and allocates for most fields,
// which costs as much as writing the whole record. But its results are the same for
// each value of a type.
//
// So [NewEncoder] looks at the type once, with package reflect, and makes a function
// for each field. That function is compiled for the type of the field's elements, and
// takes the address of the field: the address of the struct plus the offset from
// reflect. The conversion of that pointer is safe because reflect has determined the
// type and the number of the elements. The elements of an array of arrays are
// contiguous.
//
//	struct   | Label int32 | pad | Pixels [28][28]float32 ...        |
//	           ^ offset 0          ^ offset 8: 784 float32 in a row

// TagKey is the key of the struct tags that [NewEncoder] reads.
const TagKey = "example"

// Encoder writes values of a struct type as Examples, or as SequenceExamples if one
// of the fields is a feature list. It may be used concurrently.
type Encoder[T any] struct {
	context, lists fieldGroup
	specs          []FieldSpec
}

// fieldGroup is the group of fields in one message.
type fieldGroup struct {
	tag    byte // tag of the message
	fields []structField
	width  int // bytes of the length of the smallest such message
}

// FieldSpec describes the feature that a field of a struct is written to.
type FieldSpec struct {
	Name  string
	Kind  Kind           // kind of the list that stores the values
	DType dtype.DataType // type of the values in the struct
	Shape []int64        // shape of a feature, or of one step of a feature list; -1: any number
	List  bool           // a feature list, with a feature for each step
	Raw   bool           // one byte string contains the values, in the byte order of this machine
}

// structField writes one field of a struct; at is the address of the field.
type structField struct {
	offset uintptr
	write  writer
}

// NewEncoder returns the Encoder of a struct type. Each exported field becomes a
// feature of the field's name; a tag gives it another name, sets options, or skips it:
//
//	type Song struct {
//		Title   string      `example:"title"`
//		Labels  []int32     `example:"labels"`
//		Cover   [64]uint8   `example:"cover,raw"`
//		Frames  [][40]float32 `example:"frames,list"`
//		Path    string      `example:"-"`
//	}
//
// A field has bools, integers, floats, strings or byte strings ([]byte): a single one,
// an array, an array of arrays, or a slice of either. Floats are stored as 32 bits and
// bools as 0 and 1. With the option "raw" the numbers of an array become one byte
// string. With "list" a slice is a feature list, in which each element is a step;
// elements may then be slices, too.
//
// An error of class [millrace.ErrSchema] names the field that cannot be written.
func NewEncoder[T any]() (*Encoder[T], error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, millrace.Errorf(millrace.ErrSchema, "an Encoder writes structs, and %v is none", t)
	}
	e := &Encoder[T]{context: fieldGroup{tag: tagBytes1}, lists: fieldGroup{tag: tagBytes2}}
	names := make(map[string]string)
	for i := range t.NumField() {
		f := t.Field(i)
		name, options := tagOf(f)
		if name == "-" || !f.IsExported() && f.Tag.Get(TagKey) == "" {
			continue
		}
		spec, write, err := planField(f, name, options)
		if err == nil && names[name] != "" {
			err = millrace.Errorf(millrace.ErrSchema, "field %s has the same name", names[name])
		}
		if err != nil {
			return nil, fieldError(t, f, name, err)
		}
		names[name] = f.Name
		e.add(structField{f.Offset, write}, *spec)
	}
	if len(e.specs) == 0 {
		return nil, millrace.Errorf(millrace.ErrSchema, "%v has no field to write", t)
	}
	zero := unsafe.Pointer(new(T))
	e.context.setWidth(zero)
	e.lists.setWidth(zero)
	return e, nil
}

// add adds a field.
func (e *Encoder[T]) add(f structField, spec FieldSpec) {
	if spec.List {
		e.lists.fields = append(e.lists.fields, f)
	} else {
		e.context.fields = append(e.context.fields, f)
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

// fieldError adds the field to an error.
func fieldError(t reflect.Type, f reflect.StructField, name string, err error) error {
	e := millrace.Errorf(millrace.ErrSchema, "field %s of %v: %w", f.Name, t, err)
	e.Feature = name
	return e
}

// Specs describes the features, in the order of the fields. The caller must not change
// them.
func (e *Encoder[T]) Specs() []FieldSpec { return e.specs }

// Sequence reports whether the records are SequenceExamples.
func (e *Encoder[T]) Sequence() bool { return len(e.lists.fields) > 0 }

// Append appends the record of a value to b. It allocates only if b is too small.
func (e *Encoder[T]) Append(b []byte, value *T) []byte {
	at := unsafe.Pointer(value)
	return e.lists.append(e.context.append(b, at), at)
}

// append appends the message with the fields of a struct, if there are any.
func (g *fieldGroup) append(b []byte, at unsafe.Pointer) []byte {
	if len(g.fields) == 0 {
		return b
	}
	b, start := beginWide(b, g.tag, g.width)
	for i := range g.fields {
		f := &g.fields[i]
		b = f.write(b, unsafe.Add(at, f.offset))
	}
	return endWide(b, start, g.width)
}

// setWidth computes the width from a struct without values.
func (g *fieldGroup) setWidth(zero unsafe.Pointer) {
	g.width = 1
	n := len(g.append(nil, zero))
	for varintLen(n-1-g.width) > g.width {
		g.width++
	}
}
