package decl

import (
	"fmt"
	"reflect"
	"strings"
)

// Declaration describes one key of a declared object, for documentation.
type Declaration struct {
	Key, Doc string
	Type     string // "integer from 1 to 1000, or null"
	Required bool
	Default  string // as JSON; "" without a default

	Objects  []any     // a pointer to a new struct for each type of object that the value or its elements may have
	Variants []Variant // the structs that may declare the value
	Chooser  string    // the key whose value chooses the variant
}

// Describe returns the declarations of the struct that v points to, in the
// order of its fields.
func Describe(v any) []Declaration {
	pointer := reflect.ValueOf(v)
	s := structureOf(pointer.Type().Elem())
	var out []Declaration
	for i := range s.fields {
		f := &s.fields[i]
		u := f.rules
		if varied := s.chosenBy(f.key); varied != nil {
			for _, variant := range variants(pointer, varied) {
				u.enum = append(u.enum, variant.Name)
			}
		}
		d := Declaration{Key: f.key, Doc: f.doc, Required: f.required, Variants: variants(pointer, f), Chooser: f.variant}
		if f.fallback != nil && !f.isObject() {
			d.Default = fmt.Sprint(fallback(f))
			if f.typ.Kind() == reflect.String {
				d.Default = fmt.Sprintf("%q", d.Default)
			}
		}
		if f.variant != "" {
			d.Type = "object"
		} else {
			d.describe(f.typ, &u)
		}
		out = append(out, d)
	}
	return out
}

// describe sets the parts of the declaration that follow from a field's type
// and rules.
func (d *Declaration) describe(t reflect.Type, u *rules) {
	var sides []string
	for _, side := range alternatives(t) {
		sides = append(sides, typeText(side, u))
		if object := objectIn(side); object != nil {
			d.Objects = append(d.Objects, reflect.New(object).Interface())
		}
	}
	if u.null {
		sides[len(sides)-1] += ", or null"
	}
	d.Type = strings.Join(sides, ", or ")
}

// alternatives returns the types that a value may be of: two of an [Either].
func alternatives(t reflect.Type) []reflect.Type {
	if e, ok := reflect.New(t).Interface().(either); ok {
		a, b := e.sides()
		return []reflect.Type{reflect.TypeOf(a).Elem().Elem(), reflect.TypeOf(b).Elem().Elem()}
	}
	return []reflect.Type{t}
}

// objectIn returns a struct type itself, or the element type of a list of
// structs, and nil for other types.
func objectIn(t reflect.Type) reflect.Type {
	if t == nodeType {
		return nil
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		return t
	}
	return nil
}

// typeText describes a type and the rules of its values.
func typeText(t reflect.Type, u *rules) string {
	if t == nodeType {
		return "number, boolean, string or list"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeText(t.Elem(), u)
	case reflect.Bool:
		return "boolean"
	case reflect.Int64:
		return "integer" + rangeText(u)
	case reflect.Float64:
		return "number" + realRange(u)
	case reflect.String:
		return stringText(u)
	case reflect.Slice:
		return listText(t, u)
	case reflect.Map:
		return "object whose values are strings"
	}
	return "object"
}

func stringText(u *rules) string {
	switch {
	case len(u.enum) > 0:
		return series(quoted(u.enum), "or")
	case u.nonempty:
		return "non-empty string"
	}
	return "string"
}

func listText(t reflect.Type, u *rules) string {
	items := u.items
	if items == nil {
		items = &rules{}
	}
	plural := strings.NewReplacer("integer", "integers", "number", "numbers", "string", "strings", "object", "objects")
	text := "list of " + plural.Replace(typeText(t.Elem(), items))
	if u.nonempty {
		text = "non-empty " + text
	}
	if u.most > 0 {
		text += fmt.Sprintf(", at most %d of them", u.most)
	}
	return text
}

// realRange returns " above 0 and at most 1".
func realRange(u *rules) string {
	var parts []string
	if u.above != nil {
		parts = append(parts, "above "+realText(*u.above))
	}
	if u.min != nil {
		parts = append(parts, fmt.Sprintf("at least %d", *u.min))
	}
	if u.below != nil {
		parts = append(parts, "below "+realText(*u.below))
	}
	if u.max != nil {
		parts = append(parts, fmt.Sprintf("at most %d", *u.max))
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, " and ")
}

// rangeText returns " from 1 to 1000", or " of at least 1" if one end is open.
func rangeText(u *rules) string {
	high := u.high()
	switch {
	case u.min != nil && high != nil:
		return fmt.Sprintf(" from %d to %d", *u.min, *high)
	case u.min != nil:
		return fmt.Sprintf(" of at least %d", *u.min)
	case high != nil:
		return fmt.Sprintf(" of at most %d", *high)
	}
	return ""
}
