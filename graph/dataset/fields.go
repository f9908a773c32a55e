package dataset

import (
	"reflect"
	"slices"
	"strings"

	"millrace"
)

// field is a field of a Go struct that stands for a part of an element.
type field struct {
	name  string // of the part: from the tag, or else the field's own
	index int
}

// fieldsOf returns the fields of a struct that stand for parts, in the order
// of declaration: those that are exported and not tagged `tf:"-"`.
func fieldsOf(t reflect.Type) ([]field, error) {
	var fields []field
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
		if slices.ContainsFunc(fields, func(have field) bool { return have.name == name }) {
			return nil, millrace.Errorf(millrace.ErrModel, "two fields of %v are named %q", t, name)
		}
		fields = append(fields, field{name: name, index: i})
	}
	if len(fields) == 0 {
		return nil, millrace.Errorf(millrace.ErrModel, "%v has no exported fields", t)
	}
	return fields, nil
}

// sorted returns the fields by name, as structures have them.
func sorted(fields []field) []field {
	byName := slices.Clone(fields)
	slices.SortFunc(byName, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return byName
}

// match returns for each field of a struct the part of t that it stands for:
// the one of its name, or for a tuple the one at its place.
func (t *Structure) match(fields []field, goType reflect.Type) ([]int, error) {
	at := make([]int, len(fields))
	if t.Kind == KindTuple {
		if len(fields) != len(t.Parts) {
			return nil, millrace.Errorf(millrace.ErrModel, "%v has %d fields for %d parts of %v", goType, len(fields), len(t.Parts), t)
		}
		for i := range at {
			at[i] = i
		}
		return at, nil
	}
	for i, f := range fields {
		key, ok := slices.BinarySearch(t.Keys, f.name)
		if t.Kind != KindFields || !ok {
			return nil, millrace.Errorf(millrace.ErrModel, "no part named %q for a field of %v in %v", f.name, goType, t)
		}
		at[i] = key
	}
	return at, nil
}
