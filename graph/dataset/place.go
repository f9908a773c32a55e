package dataset

import (
	"reflect"
	"slices"

	"millrace"
	"millrace/diag"
	"millrace/graph/internal/elements"
)

// placer walks a structure and a Go value together.
type placer struct {
	leaf func(v reflect.Value, leaf *Structure, i int) error // assigns leaf i to v
	next int                                                 // index of the next leaf
}

// place assigns the parts of t to v.
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
	return errMisfit(v.Type(), t)
}

// errMisfit returns the error of a Go type that cannot hold a part.
func errMisfit(goType reflect.Type, t *Structure) error {
	return millrace.Errorf(millrace.ErrModel, "%v cannot hold %v", goType, t)
}

// fields assigns parts to the fields of a struct, and skips parts without a field.
func (p *placer) fields(v reflect.Value, t *Structure) error {
	fields, err := elements.Fields(v.Type())
	if err != nil {
		return err
	}
	at, err := t.match(fields, v.Type())
	if err != nil {
		return err
	}
	for i, part := range t.Parts {
		f := slices.Index(at, i)
		if f < 0 {
			p.next += len(part.Leaves())
			continue
		}
		if err := p.place(v.Field(fields[f].Index), part); err != nil {
			return millrace.Errorf(millrace.ErrModel, "field %s of %v: %w", fields[f].In(v.Type()), v.Type(), err)
		}
	}
	return nil
}

// entries assigns parts to the entries of a map.
func (p *placer) entries(v reflect.Value, t *Structure) error {
	if t.Kind != KindFields || v.Type().Key().Kind() != reflect.String {
		return errMisfit(v.Type(), t)
	}
	v.Set(reflect.MakeMap(v.Type()))
	for i, part := range t.Parts {
		entry := reflect.New(v.Type().Elem()).Elem()
		if err := p.place(entry, part); err != nil {
			return millrace.Errorf(millrace.ErrModel, "entry %q of %v: %w", t.Keys[i], v.Type(), err)
		}
		v.SetMapIndex(reflect.ValueOf(t.Keys[i]).Convert(v.Type().Key()), entry)
	}
	return nil
}

// items assigns parts to the elements of a slice.
func (p *placer) items(v reflect.Value, t *Structure) error {
	if t.Kind != KindTuple {
		return errMisfit(v.Type(), t)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(t.Parts), len(t.Parts)))
	for i, part := range t.Parts {
		if err := p.place(v.Index(i), part); err != nil {
			return millrace.Errorf(millrace.ErrModel, "element %d of %v: %w", i, v.Type(), err)
		}
	}
	return nil
}

// anything assigns parts in their natural form to an interface.
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

// match returns the part of t for each field of a struct: the one of the same name,
// or for a tuple the one at the same position.
func (t *Structure) match(fields []elements.Field, goType reflect.Type) ([]int, error) {
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
		key, ok := slices.BinarySearch(t.Keys, f.Name)
		if t.Kind != KindFields || !ok {
			e := millrace.Errorf(millrace.ErrModel, "no part named %q for field %s of %v in %v", f.Name, f.In(goType), goType, t)
			if near := diag.DidYouMean(f.Name, t.Keys); near != "" {
				e.Msg += "; " + near
			}
			return nil, e
		}
		at[i] = key
	}
	return at, nil
}
