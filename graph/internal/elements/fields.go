package elements

import (
	"reflect"
	"slices"
	"strings"

	"millrace"
)

// Field is a field of a Go struct that holds a part of an element.
type Field struct {
	Name  string // name of the part: from the tag, or else the field's own
	Index int
}

// In returns the field's own name in its struct.
func (f Field) In(structType reflect.Type) string { return structType.Field(f.Index).Name }

// Fields returns the fields of a struct that hold parts, in the order of
// declaration: those that are exported and not tagged `tf:"-"`.
func Fields(t reflect.Type) ([]Field, error) {
	var fields []Field
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("tf")
		if !f.IsExported() && name == "" || name == "-" {
			continue
		}
		if !f.IsExported() {
			return nil, millrace.Errorf(millrace.ErrModel, "field %s of %v has a tag and is not exported", f.Name, t)
		}
		if name == "" {
			name = f.Name
		}
		if slices.ContainsFunc(fields, func(have Field) bool { return have.Name == name }) {
			return nil, millrace.Errorf(millrace.ErrModel, "two fields of %v are named %q", t, name)
		}
		fields = append(fields, Field{Name: name, Index: i})
	}
	if len(fields) == 0 {
		return nil, millrace.Errorf(millrace.ErrModel, "%v has no exported fields", t)
	}
	return fields, nil
}

// SortedFields returns the fields of a struct by name, which is the order of
// structures.
func SortedFields(t reflect.Type) ([]Field, error) {
	fields, err := Fields(t)
	slices.SortFunc(fields, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return fields, err
}
