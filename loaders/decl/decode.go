package decl

import (
	"fmt"
	"reflect"

	"millrace/diag"
	"millrace/internal/base/jsonpos"
)

// Decode reads an object into the struct that into points to, and reports
// everything that breaks its declarations. The struct gets the values that
// could be read. [Object.Bad] reports the keys that could not.
func (r *Reporter) Decode(n *jsonpos.Node, into any) {
	r.value(n, reflect.ValueOf(into).Elem(), &rules{})
}

// value reads n into v and reports whether nothing is wrong with it.
func (r *Reporter) value(n *jsonpos.Node, v reflect.Value, u *rules) bool {
	if v.Type() == nodeType {
		v.Set(reflect.ValueOf(n))
		if n.Kind() == jsonpos.Null {
			r.Report(n, "must not be null")
			return false
		}
		return true
	}
	if e, ok := v.Addr().Interface().(either); ok {
		return r.either(n, e, u)
	}
	if v.Kind() == reflect.Pointer {
		if n.Kind() == jsonpos.Null && u.null {
			return true
		}
		v.Set(reflect.New(v.Type().Elem()))
		return r.value(n, v.Elem(), u)
	}
	if kindOf(v.Type()) != n.Kind() && !(v.Kind() == reflect.Struct && n.Kind() == jsonpos.Missing) {
		return r.mismatch(n, wanted(v.Type(), u))
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(n.Bool())
		return true
	case reflect.Int64:
		return r.integer(n, v, u)
	case reflect.Float64:
		return r.real(n, v, u)
	case reflect.String:
		return r.text(n, v, u)
	case reflect.Slice:
		return r.list(n, v, u)
	case reflect.Map:
		return r.texts(n, v, u)
	case reflect.Struct:
		return r.object(n, v, nil)
	}
	panic(fmt.Sprintf("decl: no JSON for %s", v.Type()))
}

// kindOf returns the kind of JSON for a type.
func kindOf(t reflect.Type) jsonpos.Kind {
	switch t.Kind() {
	case reflect.Bool:
		return jsonpos.Bool
	case reflect.Int64, reflect.Float64:
		return jsonpos.Number
	case reflect.String:
		return jsonpos.String
	case reflect.Slice:
		return jsonpos.List
	case reflect.Struct, reflect.Map:
		return jsonpos.Object
	case reflect.Pointer:
		return kindOf(t.Elem())
	}
	panic(fmt.Sprintf("decl: no JSON for %s", t))
}

// mismatch reports a value of another kind than wanted.
func (r *Reporter) mismatch(n *jsonpos.Node, want string) bool {
	d := r.Report(n, "must be %s, got %s", want, Show(n))
	d.Hint = unquoted(n, want)
	return false
}

func (r *Reporter) either(n *jsonpos.Node, e either, u *rules) bool {
	a, b := e.sides()
	for _, side := range []any{a, b} {
		v := reflect.ValueOf(side).Elem()
		if kindOf(v.Type()) == n.Kind() {
			return r.value(n, v, u)
		}
	}
	return r.mismatch(n, wanted(reflect.TypeOf(a).Elem(), u)+" or "+wanted(reflect.TypeOf(b).Elem(), u))
}

func (r *Reporter) list(n *jsonpos.Node, v reflect.Value, u *rules) bool {
	length := n.Len()
	if u.most > 0 && length > u.most {
		r.Report(n, "has %d elements; at most %d are allowed", length, u.most).Class = r.Limit
		return false
	}
	if u.nonempty && length == 0 {
		r.Report(n, "must not be empty")
		return false
	}
	items := u.items
	if items == nil {
		items = &rules{}
	}
	v.Set(reflect.MakeSlice(v.Type(), length, length))
	ok := true
	for i, e := range n.Elems() {
		ok = r.value(e, v.Index(i), items) && ok
	}
	return ok
}

// texts reads an object of any keys whose values are strings.
func (r *Reporter) texts(n *jsonpos.Node, v reflect.Value, u *rules) bool {
	before := r.counts[diag.Error]
	v.Set(reflect.MakeMap(v.Type()))
	switch {
	case n.Len() > maxMembers:
		r.Report(n, "has %d keys; at most %d are allowed", n.Len(), maxMembers).Class = r.Limit
		return false
	case u.nonempty && n.Len() == 0:
		r.Report(n, "must not be empty")
	}
	for k, value := range n.Members() {
		name := reflect.ValueOf(k.Name())
		if v.MapIndex(name).IsValid() {
			r.Report(k, "repeated key %s", Quote(k.Name()))
			continue
		}
		text := reflect.New(v.Type().Elem()).Elem()
		r.value(value, text, &rules{nonempty: true})
		v.SetMapIndex(name, text)
	}
	return r.counts[diag.Error] == before
}

// maxMembers is how many keys an object may have, known ones and others.
const maxMembers = 10_000

// object reads a struct. If the variant is only a guess, keys that its sibling
// variants declare are not reported as unknown.
func (r *Reporter) object(n *jsonpos.Node, v reflect.Value, siblings *variety) bool {
	s := r.structure(v.Type())
	o := &Object{At: n}
	if s.object != nil {
		o = v.FieldByIndex(s.object).Addr().Interface().(*Object)
		o.At = n
	}
	before := r.counts[diag.Error]
	if length := n.Len(); length > maxMembers {
		r.Report(n, "has %d keys; at most %d are allowed", length, maxMembers).Class = r.Limit
		return false
	}
	r.setLabel(n, s)
	members := r.members(n, s, o, siblings)
	var missing []string
	for i := range s.fields {
		f := &s.fields[i]
		m := members[f.key]
		switch {
		case f.variant != "":
			continue // read later, after the key that chooses the variant
		case m != nil:
			if f.unless != "" && members[f.unless] != nil {
				r.Report(m, "must not stand beside %s", f.unless)
			}
			if !r.value(m, v.FieldByIndex(f.index), r.chooser(f, s, v)) {
				o.bad = append(o.bad, f.key)
			}
		case f.required && (f.unless == "" || members[f.unless] == nil):
			missing = append(missing, f.key)
		case f.required:
		case f.isObject():
			r.value(n.Key(f.key), v.FieldByIndex(f.index), &f.rules) // its keys have defaults
		default:
			f.setDefault(v.FieldByIndex(f.index))
		}
	}
	missing = append(missing, r.varied(n, v, s, o, members)...)
	r.missing(n, o, missing)
	return r.counts[diag.Error] == before
}

// chooser returns the rules of a field. For a field that chooses a variant, the
// allowed values are the names of the variants.
func (r *Reporter) chooser(f *field, s *structure, v reflect.Value) *rules {
	varied := s.chosenBy(f.key)
	if varied == nil {
		return &f.rules
	}
	u := f.rules
	for _, variant := range r.variants(v.Addr(), varied) {
		u.enum = append(u.enum, variant.Name)
	}
	return &u
}

// members returns the first value of each declared key, and reports the keys
// that are repeated or not declared.
func (r *Reporter) members(n *jsonpos.Node, s *structure, o *Object, siblings *variety) map[string]*jsonpos.Node {
	members := make(map[string]*jsonpos.Node, len(s.fields))
	seen := make(map[string]*jsonpos.Node, len(s.fields))
	for k, v := range n.Members() {
		name := k.Name()
		if first, ok := seen[name]; ok {
			line, column := first.Position()
			r.Report(k, "repeated key %s; it was given at %d:%d already", Quote(name), line, column)
			o.bad = append(o.bad, name)
			continue
		}
		seen[name] = k
		if s.field(name) != nil {
			members[name] = v
			continue
		}
		r.unknown(k, s, siblings)
	}
	return members
}

func (r *Reporter) unknown(k *jsonpos.Node, s *structure, siblings *variety) {
	owners := siblings.owners(r, k.Name())
	switch {
	case len(owners) > 0 && siblings.guessed:
		return
	case len(owners) > 0:
		d := r.Report(k, "%q has no key %s", siblings.name, Quote(k.Name()))
		d.Hint = "it belongs to " + series(quoted(owners), "and")
		return
	}
	d := r.Report(k, "unknown key %s", Quote(k.Name()))
	keys := s.keys()
	if r.Many() {
		return
	}
	if d.Hint = diag.DidYouMean(k.Name(), keys); d.Hint != "" {
		return
	}
	switch {
	case len(keys) == 0:
		d.Hint = "there are no keys here"
	case len(keys) == 1:
		d.Hint = fmt.Sprintf("the only key is %q", keys[0])
	case len(keys) <= 8:
		d.Hint = "the keys are " + series(quoted(keys), "and")
	}
}

func (r *Reporter) missing(n *jsonpos.Node, o *Object, keys []string) {
	switch len(keys) {
	case 0:
		return
	case 1:
		r.Report(n, "missing key %q", keys[0])
	default:
		r.Report(n, "missing keys %s", series(quoted(keys), "and"))
	}
	o.bad = append(o.bad, keys...)
}

// setLabel names the object in messages if its name can be read.
func (r *Reporter) setLabel(n *jsonpos.Node, s *structure) {
	if s.label == nil || n.Kind() != jsonpos.Object {
		return
	}
	if name := n.Key(s.label.key); name.Kind() == jsonpos.String {
		if r.labels == nil {
			r.labels = make(map[int]label)
		}
		r.labels[n.Offset()] = label{s.label.label, name.Text(), s.label.key}
	}
}

// structure returns the declarations of a struct. It parses them once and
// caches them.
func (r *Reporter) structure(t reflect.Type) *structure {
	if s, ok := r.types[t]; ok {
		return s
	}
	if r.types == nil {
		r.types = make(map[reflect.Type]*structure)
	}
	s := structureOf(t)
	r.types[t] = s
	return s
}
