package dataset

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// source is what a live dataset is made from: a sequence and what its elements
// are made of.
type source struct {
	name  string
	o     SeqOptions
	parts []seqPart
	chunk int   // elements handed over at a time
	bytes int64 // their bytes
	each  func(ctx context.Context, from int64, p *producer) error
}

// seqPart is where a component of an element comes from.
type seqPart struct {
	name  string // of the field or entry; "" for an element that is one tensor
	field int    // of a struct
	spec  graph.Spec
}

// newSource returns the source of elements of type T, without its sequence.
func newSource[T any](o SeqOptions) (*source, error) {
	o.Name = cmp.Or(o.Name, "seq")
	o.Buffer = cmp.Or(o.Buffer, defaultSeqBuffer)
	o.MaxBytes = cmp.Or(o.MaxBytes, defaultSeqBytes)
	if o.Buffer < 0 || o.MaxBytes < 0 || o.Batch < 0 {
		return nil, millrace.Errorf(millrace.ErrModel, "%s: a buffer of %d, batches of %d, %d bytes: none may be negative", o.Name, o.Buffer, o.Batch, o.MaxBytes)
	}
	src := &source{name: o.Name, o: o, bytes: o.MaxBytes / 2, chunk: (o.Buffer + 1) / 2}
	if o.Batch > 0 {
		src.chunk = o.Batch
	}
	var err error
	src.parts, err = partsOf(reflect.TypeFor[T](), o)
	return src, err
}

// partsOf returns the parts of elements of a Go type.
func partsOf(t reflect.Type, o SeqOptions) ([]seqPart, error) {
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct && t != reflect.TypeFor[*tfbridge.Tensor]() {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		return fieldParts(t, o)
	case reflect.Map:
		if t.Key().Kind() != reflect.String || len(o.Fields) == 0 {
			return nil, millrace.Errorf(millrace.ErrModel, "elements of type %v need SeqOptions.Fields, and string keys", t)
		}
		var parts []seqPart
		for _, name := range slices.Sorted(maps.Keys(o.Fields)) {
			p, err := specFor(t.Elem(), o.Fields[name])
			if err != nil {
				return nil, fmt.Errorf("entry %q: %w", name, err)
			}
			parts = append(parts, seqPart{name: name, spec: p})
		}
		return parts, nil
	}
	p, err := specFor(t, o.Spec)
	return []seqPart{{spec: p}}, err
}

// fieldParts returns the parts of a struct, by name.
func fieldParts(t reflect.Type, o SeqOptions) ([]seqPart, error) {
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	var parts []seqPart
	for _, f := range sorted(fields) {
		p, err := specFor(t.Field(f.index).Type, o.Fields[f.name])
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", f.name, err)
		}
		parts = append(parts, seqPart{name: f.name, field: f.index, spec: p})
	}
	for name := range o.Fields {
		if !slices.ContainsFunc(parts, func(p seqPart) bool { return p.name == name }) {
			return nil, millrace.Errorf(millrace.ErrModel, "SeqOptions.Fields has %q, which is no field of %v", name, t)
		}
	}
	return parts, nil
}

// specFor returns the type and shape of a Go type's values, made known by what
// the caller says of them.
func specFor(t reflect.Type, said graph.Spec) (graph.Spec, error) {
	if t == reflect.TypeFor[*tfbridge.Tensor]() || t.Kind() == reflect.Interface {
		if said.DType == 0 {
			return said, millrace.Errorf(millrace.ErrModel, "the type of a %v is not known in advance: SeqOptions must say it", t)
		}
		return said, nil
	}
	if t.Kind() == reflect.Struct || t.Kind() == reflect.Map {
		return said, millrace.Errorf(millrace.ErrModel, "a part of a sequence's elements is a tensor, not a %v: give its tensors as parts and join them with MapOf", t)
	}
	dtype, shape, err := tfbridge.TypeSpec(t)
	if err != nil {
		return said, millrace.Errorf(millrace.ErrModel, "%w", err)
	}
	if said.DType != 0 && said.DType != dtype {
		return said, millrace.Errorf(millrace.ErrModel, "a %v is of type %v, SeqOptions say %v", t, dtype, said.DType)
	}
	if n := said.Shape.NumDimensions(); n >= 0 && said.DType != 0 {
		if n != shape.NumDimensions() {
			return said, millrace.Errorf(millrace.ErrModel, "a %v has shape %v, SeqOptions say %v", t, shape, said.Shape)
		}
		return said, nil
	}
	return graph.Spec{DType: dtype, Shape: shape}, nil
}

// specs returns the components of the dataset's elements.
func (src *source) specs() []graph.Spec {
	specs := make([]graph.Spec, len(src.parts))
	for i, p := range src.parts {
		specs[i] = p.spec
		if src.o.Batch > 0 {
			n := int64(-1)
			if src.o.Drop {
				n = int64(src.o.Batch)
			}
			specs[i].Shape = prepended(n, p.spec.Shape)
		}
	}
	return specs
}

// structure returns what the dataset's elements are made of.
func (src *source) structure() *Structure {
	specs := src.specs()
	if src.parts[0].name == "" {
		return DenseSpec(specs[0].DType, specs[0].Shape)
	}
	fields := map[string]*Structure{}
	for i, p := range src.parts {
		fields[p.name] = DenseSpec(specs[i].DType, specs[i].Shape)
	}
	return FieldsSpec(fields)
}

// mayBeEmpty tells whether elements may have parts of no bytes.
func (src *source) mayBeEmpty() bool {
	return src.o.Empty || slices.ContainsFunc(src.parts, func(p seqPart) bool {
		dims, err := p.spec.Shape.ToSlice()
		return err == nil && slices.Contains(dims, 0)
	})
}

// errorAt is a failure at an element.
func (src *source) errorAt(n int64, class millrace.Class, format string, args ...any) *millrace.Error {
	e := millrace.Errorf(class, format, args...)
	e.Loader, e.Record = src.name, n
	return e
}
