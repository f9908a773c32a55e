package spec

import (
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// SchemaKind says which file a JSON Schema is of.
type SchemaKind string

// The files that have a schema.
const (
	LoaderSchema   SchemaKind = "loader"   // loader configs
	ManifestSchema SchemaKind = "manifest" // dataset manifests
	ModelSchema    SchemaKind = "model"    // files of a model's names
)

// Schema returns the JSON Schema of a kind of file, for editors and other
// programs. It is made from the declarations that [Check] reads files by; the
// rules that join several keys or files are not in it.
func Schema(kind SchemaKind) ([]byte, error) {
	switch kind {
	case LoaderSchema:
		return decl.Schema(&Config{}, decl.SchemaOptions{
			Title: "Millrace loader config", Description: "How a dataset becomes batches.",
		})
	case ManifestSchema:
		return decl.Schema(&ManifestConfig{}, decl.SchemaOptions{
			Title: "Millrace dataset manifest", Description: "What the records of a dataset hold.",
		})
	case ModelSchema:
		return decl.Schema(&ModelConfig{}, decl.SchemaOptions{
			Title: "Millrace model names", Description: "What a model takes and gives.",
		})
	}
	return nil, fmt.Errorf("no schema of kind %q; there are %q, %q and %q", kind, LoaderSchema, ManifestSchema, ModelSchema)
}

// What the fields of a struct cannot declare about its schema is here.

// when returns "if key is value, then ...".
func when(key string, value any, then *jsonschema.Schema) *jsonschema.Schema {
	if then.Properties == nil {
		then.Properties = jsonschema.NewProperties()
	}
	condition := jsonschema.NewProperties()
	condition.Set(key, &jsonschema.Schema{Const: value})
	return &jsonschema.Schema{
		If:   &jsonschema.Schema{Properties: condition, Required: []string{key}},
		Then: then,
	}
}

// property returns the schema of an object in which one key is restricted.
func property(key string, s *jsonschema.Schema) *jsonschema.Schema {
	p := jsonschema.NewProperties()
	p.Set(key, s)
	return &jsonschema.Schema{Properties: p}
}

// ExtendSchema adds that shuffling needs its sizes.
func (*ExampleArgs) ExtendSchema(s *jsonschema.Schema) {
	then := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	for _, size := range shuffleSizes(&ExampleArgs{}) {
		then.Required = append(then.Required, size.key)
		then.Properties.Set(size.key, &jsonschema.Schema{Minimum: "1", Maximum: json.Number(fmt.Sprint(size.limit))})
	}
	s.AllOf = append(s.AllOf, when("shuffle", true, then))
}

// ExtendSchema adds the forms of a context.
func (*ChunkedArgs) ExtendSchema(s *jsonschema.Schema) {
	frames := &jsonschema.Schema{Type: "integer", Minimum: "0", Maximum: json.Number(fmt.Sprint(maxContext))}
	two := uint64(2)
	sides := &jsonschema.Schema{Type: "array", Items: frames, MinItems: &two, MaxItems: &two}
	bySequence := &jsonschema.Schema{
		Type: "object", AdditionalProperties: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{frames, sides}},
	}
	window, _ := s.Properties.Get("context_window")
	window.Extras, window.AnyOf = nil, []*jsonschema.Schema{frames, bySequence}
}

// ExtendSchema adds when var_len is required, and when it must be false. A shape
// has -1 only where it must be false.
func (*ManifestConfig) ExtendSchema(s *jsonschema.Schema) {
	list := property("shape", known())
	list.Required = []string{"var_len"}
	required := property("features", &jsonschema.Schema{Items: list})
	isFalse := property("features", &jsonschema.Schema{Items: property("var_len", &jsonschema.Schema{Const: false})})
	s.AllOf = append(s.AllOf, when("allow_var_len", true, required), when("allow_var_len", false, isFalse))
}

// known is a shape all dimensions of which are known.
func known() *jsonschema.Schema {
	return &jsonschema.Schema{Items: &jsonschema.Schema{Minimum: "1"}}
}

// ExtendSchema adds the names of dtypes, which go with strings, and what can be
// of any number of values.
func (*FeatureConfig) ExtendSchema(s *jsonschema.Schema) {
	shape, _ := s.Properties.Get("shape")
	first := *shape.Items
	first.Not = &jsonschema.Schema{Const: 0}
	shape.PrefixItems, shape.Items.Minimum = []*jsonschema.Schema{&first}, "1"
	empty, _ := s.Properties.Get("default")
	empty.MaxItems, empty.Items = new(uint64), nil
	s.AllOf = append(s.AllOf, when("deserialize_type", Raw, property("shape", known())))
	dtype, _ := s.Properties.Get("dtype")
	for _, name := range processing.LoadableNames() {
		dtype.Enum = append(dtype.Enum, name)
	}
	for _, kind := range []Kind{Int, Float, String, Raw} {
		text := &jsonschema.Schema{Const: "string"}
		if kind != String {
			text = &jsonschema.Schema{Not: text}
		}
		s.AllOf = append(s.AllOf, when("deserialize_type", kind, property("dtype", text)))
	}
}

// ExtendSchema adds names of dtypes as examples, because a primary feature's
// name will do as well.
func (*ConstArgs) ExtendSchema(s *jsonschema.Schema) {
	dtype, _ := s.Properties.Get("dtype")
	for _, name := range processing.LoadableNames() {
		dtype.Examples = append(dtype.Examples, name)
	}
}
