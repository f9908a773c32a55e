package decl

import (
	"reflect"

	"millrace/internal/base/jsonpos"
)

// variety describes how the variant of an object was chosen.
type variety struct {
	name    string // name of the variant
	all     []Variant
	guessed bool // the key that chooses the variant is wrong; this is the likeliest variant
}

// owners returns the names of the other variants that declare a key.
func (y *variety) owners(r *Reporter, key string) []string {
	if y == nil {
		return nil
	}
	var names []string
	for _, v := range y.all {
		if v.Name != y.name && r.structure(reflect.TypeOf(v.New()).Elem()).field(key) != nil {
			names = append(names, v.Name)
		}
	}
	return names
}

// varied reads the fields whose struct depends on another key. It returns the
// keys of required fields that are absent.
func (r *Reporter) varied(n *jsonpos.Node, v reflect.Value, s *structure, o *Object, members map[string]*jsonpos.Node) []string {
	var missing []string
	for i := range s.fields {
		f := &s.fields[i]
		if f.variant == "" {
			continue
		}
		m := members[f.key]
		if m == nil && f.required {
			missing = append(missing, f.key)
			continue
		}
		known := !o.Bad(f.variant) && members[f.variant] != nil
		choice := ""
		if known {
			choice = v.FieldByIndex(s.field(f.variant).index).String()
		}
		if m == nil && !known {
			continue // the key is absent and no variant requires it
		}
		if m == nil {
			m = n.Key(f.key)
		}
		if !r.variant(m, v.FieldByIndex(f.index), r.variants(v.Addr(), f), choice) {
			o.bad = append(o.bad, f.key)
		}
	}
	return missing
}

// variant reads the struct that choice names, or the likeliest if it is "".
func (r *Reporter) variant(n *jsonpos.Node, v reflect.Value, all []Variant, choice string) bool {
	if n.Kind() != jsonpos.Object && n.Kind() != jsonpos.Missing {
		return r.mismatch(n, "an object")
	}
	y := &variety{name: choice, all: all, guessed: choice == ""}
	if y.guessed {
		y.name = r.likeliest(n, all)
	}
	for _, variant := range all {
		if variant.Name == y.name {
			into := variant.New()
			v.Set(reflect.ValueOf(into))
			return r.object(n, reflect.ValueOf(into).Elem(), y)
		}
	}
	return true
}

// likeliest returns the name of the variant that declares most of an object's
// keys.
func (r *Reporter) likeliest(n *jsonpos.Node, all []Variant) string {
	best, most := "", -1
	for _, v := range all {
		s, count := r.structure(reflect.TypeOf(v.New()).Elem()), 0
		for k := range n.Members() {
			if s.field(k.Name()) != nil {
				count++
			}
		}
		if count > most {
			best, most = v.Name, count
		}
	}
	return best
}
