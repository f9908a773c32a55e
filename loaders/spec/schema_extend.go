package spec

import (
	"encoding/json"
	"fmt"

	"github.com/invopop/jsonschema"
)

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
func (*CommonArgs) ExtendSchema(s *jsonschema.Schema) {
	then := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	for _, size := range shuffleSizes(&CommonArgs{}) {
		then.Required = append(then.Required, size.key)
		then.Properties.Set(size.key, &jsonschema.Schema{Minimum: "1", Maximum: json.Number(fmt.Sprint(size.limit))})
	}
	s.AllOf = append(s.AllOf, when("shuffle", true, then))
}

// ExtendSchema adds when var_len is required, and when it must be false.
func (*ManifestConfig) ExtendSchema(s *jsonschema.Schema) {
	required := property("features", &jsonschema.Schema{Items: &jsonschema.Schema{Required: []string{"var_len"}}})
	isFalse := property("features", &jsonschema.Schema{Items: property("var_len", &jsonschema.Schema{Const: false})})
	s.AllOf = append(s.AllOf, when("allow_var_len", true, required), when("allow_var_len", false, isFalse))
}

// ExtendSchema adds the names of dtypes, and which go with strings.
func (*FeatureConfig) ExtendSchema(s *jsonschema.Schema) {
	dtype, _ := s.Properties.Get("dtype")
	for _, name := range loadableNames() {
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
	for _, name := range loadableNames() {
		dtype.Examples = append(dtype.Examples, name)
	}
}
