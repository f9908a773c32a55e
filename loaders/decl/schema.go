package decl

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// SchemaOptions describe a schema as a whole.
type SchemaOptions struct {
	ID, Title, Description string
}

// Extender is implemented by a pointer to a struct that adds rules to its
// schema that its fields cannot declare.
type Extender interface{ ExtendSchema(*jsonschema.Schema) }

// Schema returns the JSON Schema of the struct that v points to.
func Schema(v any, o SchemaOptions) ([]byte, error) {
	g := &generator{defs: make(jsonschema.Definitions)}
	root := g.object(reflect.TypeOf(v).Elem())
	root.Version, root.ID = jsonschema.Version, jsonschema.ID(o.ID)
	root.Title, root.Description = o.Title, o.Description
	root.Definitions = g.defs
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write schema %q: %w", o.Title, err)
	}
	return append(text, '\n'), nil
}

// generator makes the schemas of structs. Each struct becomes a definition
// under $defs.
type generator struct {
	defs jsonschema.Definitions
}

// ref returns a reference to the definition of a struct.
func (g *generator) ref(t reflect.Type) *jsonschema.Schema {
	name := definition(t)
	if _, ok := g.defs[name]; !ok {
		g.defs[name] = nil // set first, because a struct may contain its own type
		g.defs[name] = g.object(t)
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

// definition returns the name of a struct's schema. An instance of a generic struct has the
// name of its first type argument, without the package.
func definition(t reflect.Type) string {
	_, args, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return t.Name()
	}
	first, _, _ := strings.Cut(strings.TrimSuffix(args, "]"), ",")
	return first[strings.LastIndexByte(first, '.')+1:]
}

func (g *generator) object(t reflect.Type) *jsonschema.Schema {
	s := structureOf(t)
	out := &jsonschema.Schema{
		Type:                 "object",
		Properties:           jsonschema.NewProperties(),
		AdditionalProperties: jsonschema.FalseSchema,
	}
	pointer := reflect.New(t)
	for i := range s.fields {
		f := &s.fields[i]
		switch {
		case f.required && f.unless != "" && s.field(f.unless) != nil:
			out.OneOf = []*jsonschema.Schema{{Required: []string{f.key}}, {Required: []string{f.unless}}}
		case f.required:
			out.Required = append(out.Required, f.key)
		}
		p := g.property(f, s, pointer)
		p.Description = f.doc
		out.Properties.Set(f.key, p)
		for _, v := range variants(pointer, f) {
			out.AllOf = append(out.AllOf, g.branch(f, v))
		}
	}
	if e, ok := pointer.Interface().(Extender); ok {
		e.ExtendSchema(out)
	}
	return out
}

// property returns the schema of a field.
func (g *generator) property(f *field, s *structure, pointer reflect.Value) *jsonschema.Schema {
	u := f.rules
	if varied := s.chosenBy(f.key); varied != nil {
		for _, v := range variants(pointer, varied) {
			u.enum = append(u.enum, v.Name)
		}
	}
	if f.variant != "" {
		return &jsonschema.Schema{Type: "object"}
	}
	p := g.value(f.typ, &u)
	if f.fallback != nil && !f.isObject() {
		p.Default = fallback(f)
	}
	return p
}

func fallback(f *field) any {
	switch f.typ.Kind() {
	case reflect.Bool:
		return *f.fallback == "true"
	case reflect.Int64:
		return *integer("default", *f.fallback)
	case reflect.Float64:
		return *number("default", *f.fallback)
	}
	return *f.fallback
}

// branch returns the part of the schema that gives a field the struct of a
// variant.
func (g *generator) branch(f *field, v Variant) *jsonschema.Schema {
	when := jsonschema.NewProperties()
	when.Set(f.variant, &jsonschema.Schema{Const: v.Name})
	then := jsonschema.NewProperties()
	t := reflect.TypeOf(v.New()).Elem()
	then.Set(f.key, g.ref(t))
	g.defs[definition(t)].Description = v.Doc
	out := &jsonschema.Schema{
		If:   &jsonschema.Schema{Properties: when, Required: []string{f.variant}},
		Then: &jsonschema.Schema{Properties: then},
	}
	if len(g.defs[definition(t)].Required) > 0 && !f.required {
		out.Then.Required = []string{f.key}
	}
	return out
}

// value returns the schema of a type under its rules.
func (g *generator) value(t reflect.Type, u *rules) *jsonschema.Schema {
	if t == nodeType {
		return types("number", "string", "boolean", "array")
	}
	if e, ok := reflect.New(t).Interface().(either); ok {
		a, b := e.sides()
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			g.value(reflect.TypeOf(a).Elem().Elem(), u), g.value(reflect.TypeOf(b).Elem().Elem(), u),
		}}
	}
	if t.Kind() == reflect.Pointer {
		return nullable(g.value(t.Elem(), u))
	}
	switch t.Kind() {
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Int64:
		return integers(u)
	case reflect.Float64:
		return reals(u)
	case reflect.String:
		return texts(u)
	case reflect.Slice:
		return g.list(t, u)
	case reflect.Map:
		out := &jsonschema.Schema{Type: "object", AdditionalProperties: texts(&rules{nonempty: true})}
		if u.nonempty {
			out.MinProperties = count(1)
		}
		return out
	case reflect.Struct:
		return g.ref(t)
	}
	panic(fmt.Sprintf("decl: no schema for %s", t))
}

func (g *generator) list(t reflect.Type, u *rules) *jsonschema.Schema {
	items := u.items
	if items == nil {
		items = &rules{}
	}
	out := &jsonschema.Schema{Type: "array", Items: g.value(t.Elem(), items)}
	if u.nonempty {
		out.MinItems = count(1)
	}
	if u.most > 0 {
		out.MaxItems = count(u.most)
	}
	return out
}

func integers(u *rules) *jsonschema.Schema {
	out := &jsonschema.Schema{Type: "integer"}
	if u.min != nil {
		out.Minimum = bound(*u.min)
	}
	if high := u.high(); high != nil {
		out.Maximum = bound(*high)
	}
	return out
}

func reals(u *rules) *jsonschema.Schema {
	out := &jsonschema.Schema{Type: "number"}
	if u.min != nil {
		out.Minimum = bound(*u.min)
	}
	if u.max != nil {
		out.Maximum = bound(*u.max)
	}
	if u.above != nil {
		out.ExclusiveMinimum = json.Number(realText(*u.above))
	}
	if u.below != nil {
		out.ExclusiveMaximum = json.Number(realText(*u.below))
	}
	return out
}

func texts(u *rules) *jsonschema.Schema {
	out := &jsonschema.Schema{Type: "string"}
	if u.nonempty {
		out.MinLength = count(1)
	}
	for _, e := range u.enum {
		out.Enum = append(out.Enum, e)
	}
	return out
}

func bound(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

func count(n int) *uint64 {
	c := uint64(n)
	return &c
}

// types returns the schema of a value of one of several types.
func types(names ...string) *jsonschema.Schema {
	return &jsonschema.Schema{Extras: map[string]any{"type": names}}
}

// nullable allows null besides what s allows.
func nullable(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Ref != "" || s.AnyOf != nil {
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	}
	s.Extras = map[string]any{"type": []string{s.Type, "null"}}
	s.Type = ""
	if s.Enum != nil {
		s.Enum = append(s.Enum, nil)
	}
	return s
}
