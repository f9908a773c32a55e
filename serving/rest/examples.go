package rest

import (
	"context"
	"strconv"
	"strings"

	"millrace/internal/servingproto"
	"millrace/internal/tfproto"
	"millrace/serving/internal/inference"
)

// classify answers {"results": [[[label, score], ...], ...]}.
func (c *call) classify(ctx context.Context) ([]byte, error) {
	signature, input, err := c.examples()
	if err != nil {
		return nil, err
	}
	v, err := c.server.Acquire(c.spec)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	answer, err := inference.Classify(ctx, v, &servingproto.ClassificationRequest{ModelSpec: &servingproto.ModelSpec{SignatureName: signature}, Input: input})
	if err != nil {
		return nil, err
	}
	b := []byte(`{"results":[`)
	for i, example := range answer.GetResult().GetClassifications() {
		b = comma(b, i)
		b = append(b, '[')
		for j, class := range example.GetClasses() {
			b = comma(b, j)
			b = append(b, '[')
			b = appendString(b, class.GetLabel())
			b = append(b, ',')
			b = appendFloat(b, float64(class.GetScore()), 32)
			b = append(b, ']')
		}
		b = append(b, ']')
	}
	return append(b, "]}\n"...), nil
}

// regress answers {"results": [value, ...]}.
func (c *call) regress(ctx context.Context) ([]byte, error) {
	signature, input, err := c.examples()
	if err != nil {
		return nil, err
	}
	v, err := c.server.Acquire(c.spec)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	answer, err := inference.Regress(ctx, v, &servingproto.RegressionRequest{ModelSpec: &servingproto.ModelSpec{SignatureName: signature}, Input: input})
	if err != nil {
		return nil, err
	}
	b := []byte(`{"results":[`)
	for i, r := range answer.GetResult().GetRegressions() {
		b = appendFloat(comma(b, i), float64(r.GetValue()), 32)
	}
	return append(b, "]}\n"...), nil
}

// comma appends a comma before every element but the first.
func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

// examples reads the Examples of a request, and the signature that it names.
func (c *call) examples() (signature string, input *servingproto.Input, err error) {
	text, err := c.body()
	if err != nil {
		return "", nil, err
	}
	r, err := parseRequest(text, "context", "examples")
	if err != nil {
		return "", nil, err
	}
	s := r.found["examples"]
	if s == nil {
		return "", nil, invalid("When method is %s, key 'examples' is expected and was not found", c.method)
	}
	if s.peek() != '[' {
		return "", nil, s.errorf("Expecting 'examples' value to be an list/array")
	}
	var examples []*tfproto.Example
	n, err := s.list(func(i int) error {
		e, err := parseExample(s)
		examples = append(examples, e)
		return err
	})
	switch {
	case err != nil:
		return "", nil, err
	case n == 0:
		return "", nil, s.errorf("'examples' value is an empty array")
	}
	input = &servingproto.Input{Kind: &servingproto.Input_ExampleList{ExampleList: &servingproto.ExampleList{Examples: examples}}}
	if s := r.found["context"]; s != nil {
		shared, err := parseExample(s)
		if err != nil {
			return "", nil, err
		}
		list := &servingproto.ExampleListWithContext{Examples: examples, Context: shared}
		input.Kind = &servingproto.Input_ExampleListWithContext{ExampleListWithContext: list}
	}
	return r.signature, input, nil
}

// parseExample takes an Example: an object of features, each a value or a list.
func parseExample(s *scanner) (*tfproto.Example, error) {
	if s.peek() != '{' {
		return nil, s.errorf("Example must be JSON object but got %s", s.shown())
	}
	features := map[string]*tfproto.Feature{}
	err := s.object(func(name string) error {
		f := &tfproto.Feature{}
		features[name] = f
		if s.peek() != '[' {
			return addValue(s, name, f)
		}
		_, err := s.list(func(int) error { return addValue(s, name, f) })
		return err
	})
	return &tfproto.Example{Features: &tfproto.Features{Feature: features}}, err
}

// addValue takes a value of a feature. The first value decides of which kind the
// others must be: strings or bytes, whole numbers, or numbers with a decimal point,
// an exponent or no finite value.
func addValue(s *scanner, name string, f *tfproto.Feature) error {
	switch c := s.peek(); c {
	case '"', '{':
		raw, err := s.bytesValue(c)
		if err != nil {
			return err
		}
		list := f.GetBytesList()
		if list == nil {
			if f.Kind != nil {
				return mixed(s, name)
			}
			list = &tfproto.BytesList{}
			f.Kind = &tfproto.Feature_BytesList{BytesList: list}
		}
		list.Value = append(list.Value, raw)
		return nil
	}
	text, err := s.scalar()
	if err != nil {
		return err
	}
	if strings.ContainsAny(string(text), ".eEN") || strings.Contains(string(text), "Inf") {
		return addFloat(s, name, f, string(text))
	}
	return addInt(s, name, f, string(text))
}

// bytesValue takes a string, or bytes in base64, which begin with c.
func (s *scanner) bytesValue(c byte) ([]byte, error) {
	if c == '{' {
		return s.b64()
	}
	return s.string()
}

// addFloat adds a number, or true and false, which have an e too.
func addFloat(s *scanner, name string, f *tfproto.Feature, text string) error {
	if text == "true" || text == "false" {
		return addInt(s, name, f, text)
	}
	v, ok := parseFloat(text, 32)
	if !ok {
		return s.errorf("Feature: %s: %s is not a float32", name, text)
	}
	list := f.GetFloatList()
	if list == nil {
		if f.Kind != nil {
			return mixed(s, name)
		}
		list = &tfproto.FloatList{}
		f.Kind = &tfproto.Feature_FloatList{FloatList: list}
	}
	list.Value = append(list.Value, float32(v))
	return nil
}

// addInt adds a whole number, or true and false as 1 and 0.
func addInt(s *scanner, name string, f *tfproto.Feature, text string) error {
	switch text {
	case "true":
		text = "1"
	case "false":
		text = "0"
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return s.errorf("Feature: %s: %s is not an int64", name, text)
	}
	list := f.GetInt64List()
	if list == nil {
		if f.Kind != nil {
			return mixed(s, name)
		}
		list = &tfproto.Int64List{}
		f.Kind = &tfproto.Feature_Int64List{Int64List: list}
	}
	list.Value = append(list.Value, v)
	return nil
}

// mixed returns the error about a feature with values of two kinds.
func mixed(s *scanner, name string) error {
	return s.errorf("Unexpected element type in feature: %s: its values are not all of one kind", name)
}
