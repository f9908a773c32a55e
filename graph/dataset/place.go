package dataset

import (
	"reflect"

	"millrace"
)

// placer walks a structure and a Go value together.
type placer struct {
	leaf func(v reflect.Value, leaf *Structure, i int) error // gives leaf i to v
	next int                                                 // the leaf that comes next
}

// place gives the parts of t to v.
func (p *placer) place(v reflect.Value, t *Structure) error {
	if t.leaf() {
		p.next++
		return p.leaf(v, t, p.next-1)
	}
	switch v.Kind() {
	case reflect.Interface:
		return p.anything(v, t)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return p.place(v.Elem(), t)
	case reflect.Struct:
		return p.fields(v, t)
	case reflect.Map:
		return p.entries(v, t)
	case reflect.Slice:
		return p.items(v, t)
	}
	return noPlace(v, t)
}

// noPlace says that a part does not fit.
func noPlace(v reflect.Value, t *Structure) error {
	return millrace.Errorf(millrace.ErrModel, "a %v has no place for %v", v.Type(), t)
}

// fields gives parts to the fields of a struct; those without one are passed.
func (p *placer) fields(v reflect.Value, t *Structure) error {
	fields, err := fieldsOf(v.Type())
	if err != nil {
		return err
	}
	at, err := t.match(fields, v.Type())
	if err != nil {
		return err
	}
	for i, part := range t.Parts {
		target := reflect.Value{}
		for f := range fields {
			if at[f] == i {
				target = v.Field(fields[f].index)
			}
		}
		if !target.IsValid() {
			p.next += len(part.Leaves())
			continue
		}
		if err := p.place(target, part); err != nil {
			return err
		}
	}
	return nil
}

// entries gives parts to the entries of a map.
func (p *placer) entries(v reflect.Value, t *Structure) error {
	if t.Kind != KindFields || v.Type().Key().Kind() != reflect.String {
		return noPlace(v, t)
	}
	v.Set(reflect.MakeMap(v.Type()))
	for i, part := range t.Parts {
		entry := reflect.New(v.Type().Elem()).Elem()
		if err := p.place(entry, part); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(t.Keys[i]).Convert(v.Type().Key()), entry)
	}
	return nil
}

// items gives parts to the elements of a slice.
func (p *placer) items(v reflect.Value, t *Structure) error {
	if t.Kind != KindTuple {
		return noPlace(v, t)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(t.Parts), len(t.Parts)))
	for i, part := range t.Parts {
		if err := p.place(v.Index(i), part); err != nil {
			return err
		}
	}
	return nil
}

// anything gives parts in their natural form to an interface.
func (p *placer) anything(v reflect.Value, t *Structure) error {
	target := reflect.New(reflect.TypeFor[[]any]()).Elem()
	if t.Kind == KindFields {
		target = reflect.New(reflect.TypeFor[map[string]any]()).Elem()
	}
	if err := p.place(target, t); err != nil {
		return err
	}
	return assign(v, target, t)
}
