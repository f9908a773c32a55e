// Package decl reads JSON objects into Go structs. The tags of a struct declare
// the keys and their rules. The package also writes these declarations as JSON
// Schemas.
//
// A struct declares an object, a field one of its keys. The tag "json" holds
// the key, the tag "doc" a sentence about it, and the tag "decl" its rules,
// separated by commas:
//
//	required     the key must be there
//	unless=KEY   a required key may be absent where KEY is there, and only there
//	null         null is allowed; the field is a pointer and then nil
//	default=V    the value if the key is absent (else the zero value); {} for an
//	             object whose keys have defaults
//	min=N max=N  the range of a number, N an integer
//	above=F      a number must be more than F
//	below=F      a number must be less than F
//	limit=N      as max, but more is too much rather than wrong
//	enum=A|B     the values of a string
//	nonempty     a string or list must not be empty
//	most=N       the most elements of a list
//	items.X      the rule X for each element of a list
//	label=NOUN   names the object in messages about what is in it
//	variant=KEY  the struct for this object depends on the string under KEY
//	inline       the field is a struct whose keys are keys of this object; no tag "json"
//
// Field types are bool, int64, float64, string, lists and structs of these, pointers
// to them where null is allowed, [Either] for one of two types, any for a
// variant, and *[jsonpos.Node] for a value whose type is checked later.
package decl

import (
	"encoding/json"
	"slices"

	"millrace/internal/base/jsonpos"
)

// Object is embedded in each struct that declares an object. It holds the place
// of the object in its file, for messages.
type Object struct {
	At  *jsonpos.Node `json:"-"`
	bad []string
}

// Key returns the place of a key's value, or the object's if it is absent.
func (o *Object) Key(name string) *jsonpos.Node { return o.At.Key(name) }

// Has reports whether the key is there.
func (o *Object) Has(name string) bool { return o.At.Key(name).Kind() != jsonpos.Missing }

// Bad reports whether a problem with one of the keys was already reported: the
// key is required but missing, or its value breaks the rules of its
// declaration. A further check of the value would only repeat the problem.
func (o *Object) Bad(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(o.bad, n) })
}

// Either is a value of one of two types, told apart by their kind of JSON.
// At most one of its fields is not nil.
type Either[A, B any] struct {
	A *A
	B *B
}

// MarshalJSON writes the field that is not nil.
func (e Either[A, B]) MarshalJSON() ([]byte, error) {
	if e.A != nil {
		return json.Marshal(e.A)
	}
	return json.Marshal(e.B)
}

// sides returns pointers to the two pointers.
func (e *Either[A, B]) sides() (a, b any) { return &e.A, &e.B }

// either is implemented by all *Either.
type either interface{ sides() (a, b any) }

// Variant is one of the structs that a field tagged "variant" may hold.
type Variant struct {
	Name string // the value of the key that chooses it
	Doc  string
	New  func() any // a pointer to a new struct
}

// Varied is implemented by a pointer to a struct with a field tagged
// "variant": it lists the variants of that field.
type Varied interface{ Variants(key string) []Variant }
