// Package elements copies Go values into tensors: the elements of a sequence, or the
// values that a decoder returns. A [Layout] describes the tensors that a Go type
// becomes, and [Columns] collect values.
package elements

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"millrace"
	"millrace/dtype"
	"millrace/tfbridge"
)

// Specs describe the tensors as far as the Go type does not.
type Specs struct {
	Spec   dtype.TensorSpec            // spec of a value that is one tensor
	Fields map[string]dtype.TensorSpec // specs of named parts; "a.b" is part b of part a
	// Composite reports whether a type is a tensor made of several, such as a
	// sparse one.
	Composite func(reflect.Type) bool
	// Components returns the tensors that a composite type consists of, given its spec
	// from the caller; nil: composite types are refused.
	Components func(t reflect.Type, said dtype.TensorSpec) ([]Component, error)
}

// Component is a tensor of a composite value.
type Component struct {
	Spec  dtype.TensorSpec
	Empty bool                                         // it may have no elements
	Of    func(v reflect.Value) (reflect.Value, error) // returns the tensor of a composite value
}

// Layout describes what a Go type becomes: one tensor, or named parts, which may have
// parts themselves. It is immutable.
type Layout struct {
	Root  *Node
	Parts []Part // the leaves of Root from left to right
}

// Node is a part of a value.
type Node struct {
	Names []string // names of its parts, sorted; nil: it is a tensor
	Nodes []*Node
	Spec  dtype.TensorSpec // spec of a tensor; for a composite one, the caller's spec
	Type  reflect.Type     // type of a composite tensor, which is several of the layout's parts; nil: not composite
}

// Part is a tensor of a value.
type Part struct {
	Name string // "a.b" for part b of part a; "" for a value that is one tensor
	Spec dtype.TensorSpec

	empty bool // it may have no elements
	path  []step
}

// step leads from a value to a part of it.
type step struct {
	field     int // index in a struct
	key       string
	entries   int                                        // number of entries of the map that has the key; 0: the value is a struct
	component func(reflect.Value) (reflect.Value, error) // nil: not a composite value
}

// Of returns the layout of a Go type: a number, string or bool, a slice or array
// of these, a *tfbridge.Tensor, a composite tensor, or a struct, a pointer to one
// or a map of any of them. Structs and maps may be nested.
//
// A type that cannot be a value, and specs that do not fit it, are errors of
// class millrace.ErrModel.
func Of(t reflect.Type, specs Specs) (*Layout, error) {
	if t.Kind() == reflect.Pointer && isStruct(t.Elem()) {
		t = t.Elem()
	}
	l := &layouter{specs: specs, used: map[string]bool{}}
	root, err := l.node(t, Part{})
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(specs.Fields)) {
		if !l.used[name] {
			return nil, millrace.Errorf(millrace.ErrModel, "the options' Fields have %q, which is no part of %v", name, t)
		}
	}
	return &Layout{Root: root, Parts: l.parts}, nil
}

// isStruct reports whether a type has named parts.
func isStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[tfbridge.Tensor]()
}

// layouter is one call of Of.
type layouter struct {
	specs Specs
	parts []Part
	used  map[string]bool // the names of Specs.Fields that are parts
}

// node adds a value of a Go type.
func (l *layouter) node(t reflect.Type, at Part) (*Node, error) {
	switch {
	case l.specs.Composite(t):
		return l.composite(t, at)
	case isStruct(t):
		return l.fields(t, at)
	case t.Kind() == reflect.Map:
		return l.entries(t, at)
	}
	spec, err := specOf(t, l.declared(at))
	if err != nil {
		return nil, at.wrap(err)
	}
	at.Spec = spec
	l.parts = append(l.parts, at)
	return &Node{Spec: spec}, nil
}

// declared returns the caller's spec of a part.
func (l *layouter) declared(at Part) dtype.TensorSpec {
	if len(at.path) == 0 {
		return l.specs.Spec
	}
	l.used[at.Name] = true
	return l.specs.Fields[at.Name]
}

// composite adds a tensor made of several.
func (l *layouter) composite(t reflect.Type, at Part) (*Node, error) {
	if l.specs.Components == nil {
		return nil, at.wrap(millrace.Errorf(millrace.ErrModel, "a %v is no tensor: give its tensors as parts and join them with MapOf", t))
	}
	n := &Node{Spec: l.declared(at), Type: t}
	components, err := l.specs.Components(t, n.Spec)
	if err != nil {
		return nil, at.wrap(err)
	}
	for _, c := range components {
		l.parts = append(l.parts, Part{Name: at.Name, Spec: c.Spec, empty: c.Empty, path: append(slices.Clip(at.path), step{component: c.Of})})
	}
	return n, nil
}

// fields adds the fields of a struct, by name.
func (l *layouter) fields(t reflect.Type, at Part) (*Node, error) {
	fields, err := SortedFields(t)
	if err != nil {
		return nil, at.wrap(err)
	}
	n := &Node{}
	for _, f := range fields {
		if err := l.add(n, t.Field(f.Index).Type, at.inner(f.Name, step{field: f.Index})); err != nil {
			return nil, err
		}
		n.Names = append(n.Names, f.Name)
	}
	return n, nil
}

// entries adds the entries of a map that Specs.Fields name, by key.
func (l *layouter) entries(t reflect.Type, at Part) (*Node, error) {
	n := &Node{Names: l.keys(t, at)}
	if t.Key().Kind() != reflect.String || len(n.Names) == 0 {
		return nil, at.wrap(millrace.Errorf(millrace.ErrModel, "a %v needs string keys, and an entry in the options' Fields for each of them", t))
	}
	for _, key := range n.Names {
		if err := l.add(n, t.Elem(), at.inner(key, step{key: key, entries: len(n.Names)})); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// add adds a part to a node.
func (l *layouter) add(n *Node, t reflect.Type, at Part) error {
	inner, err := l.node(t, at)
	n.Nodes = append(n.Nodes, inner)
	return err
}

// keys returns the keys of a map, sorted: the names of Specs.Fields, reduced to the
// components of this level.
func (l *layouter) keys(t reflect.Type, at Part) []string {
	keys := map[string]bool{}
	for name := range l.specs.Fields {
		key, ok := name, true
		if at.Name != "" {
			key, ok = strings.CutPrefix(name, at.Name+".")
		}
		if isStruct(t.Elem()) && !l.specs.Composite(t.Elem()) || t.Elem().Kind() == reflect.Map {
			key, _, _ = strings.Cut(key, ".")
		}
		if ok {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// inner returns a part of p.
func (p Part) inner(name string, s step) Part {
	if p.Name != "" {
		name = p.Name + "." + name
	}
	return Part{Name: name, path: append(slices.Clip(p.path), s)}
}

// wrap adds the part's name to an error.
func (p Part) wrap(err error) error {
	if p.Name == "" {
		return err
	}
	return millrace.Errorf(millrace.ErrModel, "part %q: %w", p.Name, err)
}

// specOf returns the type and shape of a Go type's values, completed by the caller's
// spec.
func specOf(t reflect.Type, said dtype.TensorSpec) (dtype.TensorSpec, error) {
	if t == reflect.TypeFor[*tfbridge.Tensor]() || t.Kind() == reflect.Interface {
		if said.DType == 0 {
			return said, millrace.Errorf(millrace.ErrModel, "the options must say the data type of a %v", t)
		}
		return said, nil
	}
	known, shape, err := tfbridge.TypeSpec(t)
	if err != nil {
		return said, millrace.Errorf(millrace.ErrModel, "%w", err)
	}
	if said.DType != 0 && said.DType != known {
		return said, millrace.Errorf(millrace.ErrModel, "a %v is of type %v, the options say %v", t, known, said.DType)
	}
	if n := said.Shape.NumDimensions(); n >= 0 && said.DType != 0 {
		if n != shape.NumDimensions() {
			return said, millrace.Errorf(millrace.ErrModel, "a %v has shape %v, the options say %v", t, shape, said.Shape)
		}
		return said, nil
	}
	return dtype.TensorSpec{DType: known, Shape: shape}, nil
}

// MayBeEmpty reports whether a value may have a part without bytes.
func (l *Layout) MayBeEmpty() bool {
	return slices.ContainsFunc(l.Parts, func(p Part) bool {
		dims, err := p.Spec.Shape.ToSlice()
		return p.empty || err == nil && slices.Contains(dims, 0)
	})
}

// Fold computes a value from a node: leaf from its tensors, and fields from the named
// parts of each struct or map.
func Fold[S any](n *Node, leaf func(*Node) S, fields func(map[string]S) S) S {
	if n.Names == nil {
		return leaf(n)
	}
	parts := map[string]S{}
	for i, name := range n.Names {
		parts[name] = Fold(n.Nodes[i], leaf, fields)
	}
	return fields(parts)
}
