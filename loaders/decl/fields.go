package decl

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"millrace/internal/base/jsonpos"
)

// rules are the rules of a field's tag.
type rules struct {
	required, null, nonempty bool
	unless                   string // the key that stands in for a required one
	min, max, limit          *int64
	above, below             *float64
	most                     int
	enum                     []string
	fallback                 *string // the text of "default"
	label, variant           string
	items                    *rules // rules of a list's elements
}

// high returns the largest integer that is allowed, nil if there is none.
func (r *rules) high() *int64 {
	if r.max == nil || r.limit != nil && *r.limit < *r.max {
		return r.limit
	}
	return r.max
}

// field is a declared key.
type field struct {
	key   string
	doc   string
	index []int // argument of reflect.Value.FieldByIndex
	typ   reflect.Type
	rules
}

// structure is a declared object.
type structure struct {
	fields []field
	object []int  // the index of the embedded Object
	label  *field // the field that names the object in messages, or nil
}

var (
	objectType = reflect.TypeFor[Object]()
	nodeType   = reflect.TypeFor[*jsonpos.Node]()
)

// structureOf reads the declarations of a struct. It panics on an invalid
// declaration, which is a bug in the program and not in its input.
func structureOf(t reflect.Type) *structure {
	s := &structure{}
	s.add(t, nil)
	for i := range s.fields {
		if s.fields[i].label != "" {
			s.label = &s.fields[i]
		}
	}
	return s
}

func (s *structure) add(t reflect.Type, index []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(index[:len(index):len(index)], i)
		switch key, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case f.Type == objectType:
			s.object = at
		case f.Anonymous, f.Tag.Get("decl") == "inline":
			s.add(f.Type, at)
		case f.IsExported() && key != "" && key != "-":
			s.fields = append(s.fields, field{key, f.Tag.Get("doc"), at, f.Type, readRules(f.Tag.Get("decl"))})
		}
	}
}

// field returns the declaration of a key, nil if it is not declared.
func (s *structure) field(key string) *field {
	for i := range s.fields {
		if s.fields[i].key == key {
			return &s.fields[i]
		}
	}
	return nil
}

func (s *structure) keys() []string {
	keys := make([]string, len(s.fields))
	for i, f := range s.fields {
		keys[i] = f.key
	}
	return keys
}

func readRules(tag string) rules {
	var r rules
	for rule := range strings.SplitSeq(tag, ",") {
		if name, ok := strings.CutPrefix(rule, "items."); ok {
			if r.items == nil {
				r.items = &rules{}
			}
			r.items.read(name)
		} else if rule != "" {
			r.read(rule)
		}
	}
	return r
}

func (r *rules) read(rule string) {
	name, value, _ := strings.Cut(rule, "=")
	switch name {
	case "required":
		r.required = true
	case "unless":
		r.unless = value
	case "null":
		r.null = true
	case "nonempty":
		r.nonempty = true
	case "min":
		r.min = integer(rule, value)
	case "max":
		r.max = integer(rule, value)
	case "limit":
		r.limit = integer(rule, value)
	case "above":
		r.above = number(rule, value)
	case "below":
		r.below = number(rule, value)
	case "most":
		r.most = int(*integer(rule, value))
	case "enum":
		r.enum = strings.Split(value, "|")
	case "default":
		r.fallback = &value
	case "label":
		r.label = value
	case "variant":
		r.variant = value
	default:
		panic(fmt.Sprintf("decl: unknown rule %q", rule))
	}
}

func integer(rule, text string) *int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("decl: rule %q: %v", rule, err))
	}
	return &n
}

func number(rule, text string) *float64 {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("decl: rule %q: %v", rule, err))
	}
	return &f
}

// isObject reports whether a field without the key is an object without keys,
// whose own fields get their defaults.
func (f *field) isObject() bool { return f.fallback != nil && *f.fallback == "{}" }

// variants returns the variants of a field of the struct that v points to.
func variants(v reflect.Value, f *field) []Variant {
	if f.variant == "" {
		return nil
	}
	return v.Interface().(Varied).Variants(f.key)
}

// variants is the function of that name, with the variants of r.Further.
func (r *Reporter) variants(v reflect.Value, f *field) []Variant {
	all := variants(v, f)
	if f.variant != "" && r.Further != nil {
		all = append(slices.Clip(all), r.Further(v.Interface(), f.key)...)
	}
	return all
}

// chosenBy returns the field tagged "variant" whose struct depends on the
// string under key, nil if there is none.
func (s *structure) chosenBy(key string) *field {
	for i := range s.fields {
		if s.fields[i].variant == key {
			return &s.fields[i]
		}
	}
	return nil
}
