package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfrecord/example"
)

// jsonField is a member of an object: its name, and the text of its value.
type jsonField struct {
	name string
	text []byte // valid JSON, part of the line
}

// jsonObject cuts lines into members. It does not build a tree, which would take many
// times the memory of the line: values go from the text directly to the lists of a
// record.
type jsonObject struct {
	fields []jsonField
	in     bytes.Buffer
	json   *jsontext.Decoder
}

// parse cuts a line, and checks that it is one object without a key twice.
func (o *jsonObject) parse(line []byte, replace bool) error {
	o.fields = o.fields[:0]
	o.in = *bytes.NewBuffer(line) // the decoder reads it in place
	if o.json == nil {
		o.json = jsontext.NewDecoder(&o.in)
	}
	o.json.Reset(&o.in, jsontext.AllowInvalidUTF8(true)) // values are checked one by one, so that an error has its column
	if first, err := o.json.ReadToken(); err != nil {
		return jsonError(err)
	} else if first.Kind() != '{' {
		return errors.New("each line must be one JSON object")
	}
	for o.json.PeekKind() != '}' {
		quoted, err := o.json.ReadValue()
		if err != nil {
			return jsonError(err)
		}
		name, err := jsontext.AppendUnquote(nil, quoted)
		if err != nil && !replace {
			return fmt.Errorf("the key %w", invalidText(millrace.QuoteData(quoted)))
		}
		value, err := o.json.ReadValue()
		if err != nil {
			return jsonError(err)
		}
		if len(o.fields) == maxColumns {
			return limitError("more than %d keys, which is what a manifest may have", maxColumns)
		}
		end := int(o.json.InputOffset())
		o.fields = append(o.fields, jsonField{string(name), line[end-len(value) : end]})
	}
	if _, err := o.json.ReadToken(); err != nil {
		return jsonError(err)
	}
	if rest := line[o.json.InputOffset():]; len(bytes.TrimSpace(rest)) > 0 {
		return errors.New("each line must be one JSON object")
	}
	return nil
}

// jsonError describes a line that is not one object of JSON.
func jsonError(err error) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the object does not end on its line")
	case errors.Is(err, jsontext.ErrDuplicateName):
		var at *jsontext.SyntacticError
		if errors.As(err, &at) {
			return fmt.Errorf("two values have the key %s, and a record holds one; remove one of them", millrace.QuoteData([]byte(at.JSONPointer.LastToken())))
		}
	}
	return fmt.Errorf("%w; each line must be a JSON object", err)
}

// The functions below walk a text that is known to be valid JSON.

// isSpace reports whether a byte is white space between tokens.
func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }

// skip returns the start of the next token of a list, after spaces and a comma.
func skip(text []byte, i int) int {
	for isSpace(text[i]) || text[i] == ',' {
		i++
	}
	return i
}

// tokenEnd returns the end of the string, number or literal at the start of a text.
func tokenEnd(text []byte) int {
	if text[0] != '"' {
		end := bytes.IndexAny(text, ",]} \t\r\n")
		if end < 0 {
			end = len(text)
		}
		return end
	}
	for i := 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// hasFraction reports whether a number is written in floating-point notation.
func hasFraction(number []byte) bool { return bytes.ContainsAny(number, ".eE") }

// columnOfJSON returns the column that holds the value at the start of a text, and the
// end of the value.
func columnOfJSON(text []byte) (c Column, end int, err error) {
	switch text[0] {
	case '{':
		return c, 0, errors.New("an object; make its keys columns of their own")
	case '[':
		return columnOfList(text)
	}
	end = tokenEnd(text)
	switch text[0] {
	case 'n':
		return Column{Shape: []int64{}}, end, nil
	case 't', 'f':
		return scalar("", spec.Int, "bool"), end, nil
	case '"':
		return scalar("", spec.String, "string"), end, nil
	}
	if hasFraction(text[:end]) {
		return scalar("", spec.Float, "float32"), end, nil
	}
	return scalar("", spec.Int, "int64"), end, nil
}

// columnOfList returns the column that holds a list.
func columnOfList(text []byte) (c Column, end int, err error) {
	count := int64(0)
	i := skip(text, 1)
	for ; text[i] != ']'; i = skip(text, i) {
		one, n, err := columnOfJSON(text[i:])
		if err != nil {
			return c, 0, err
		}
		i += n
		if count++; count == 1 {
			c = one
		}
		if one.Stored == "" && len(one.Shape) == 0 {
			return c, 0, errors.New("null in a list; a list of numbers has no place without a value")
		}
		if !slices.Equal(c.Shape, one.Shape) {
			return c, 0, fmt.Errorf("the lists in a list have different shapes, %v and %v; a feature has one shape, whose first dimension alone may vary", c.Shape, one.Shape)
		}
		whole, ok := merge(c, one, false)
		if !ok {
			return c, 0, fmt.Errorf("%s and %s in one list", c.DType, one.DType)
		}
		c = whole
	}
	c.Shape = append([]int64{count}, c.Shape...)
	return c, i + 1, nil
}

// json adds the values of the JSON value at the start of a text, and returns its end.
func (v *values) json(text []byte, c *Column, kind example.Kind) (end int, err error) {
	switch text[0] {
	case '{':
		return 0, errors.New("an object does not fit a feature; make its keys columns of their own")
	case '[':
		i := skip(text, 1)
		for ; text[i] != ']'; i = skip(text, i) {
			if err := v.room(1, kind); err != nil {
				return 0, err
			}
			n, err := v.json(text[i:], c, kind)
			if err != nil {
				return 0, err
			}
			i += n
		}
		return i + 1, nil
	}
	end = tokenEnd(text)
	return end, v.jsonScalar(text[:end], c)
}

// jsonScalar adds a value that is not a list.
func (v *values) jsonScalar(text []byte, c *Column) error {
	switch text[0] {
	case 'n':
		return errors.New("null in a list; a list of numbers has no place without a value")
	case 't', 'f':
		if c.Stored != spec.Int {
			return fmt.Errorf("%s does not fit %s", text, c.DType)
		}
		x, _ := truth(text)
		v.ints = append(v.ints, x)
		return nil
	case '"':
		if c.Stored != spec.String && c.Stored != "" {
			return textError(string(text[1:len(text)-1]), c.Stored, nil)
		}
		plain, err := jsontext.AppendUnquote(nil, text)
		if err != nil && v.InvalidUTF8 != ReplaceInvalid {
			return invalidText(millrace.QuoteData(text[1 : len(text)-1]))
		}
		v.texts = append(v.texts, plain)
		return nil
	}
	switch {
	case c.Stored == spec.String:
		return fmt.Errorf("the number %s does not fit string", text)
	case c.Stored == spec.Int && hasFraction(text):
		return v.jsonWhole(string(text), c)
	case c.Stored == spec.Int:
		if x, ok := shortInt(text); ok {
			v.ints = append(v.ints, x)
			return nil
		}
	case c.Stored == spec.Float:
		if x, ok := shortFloat(text); ok {
			return v.float(x)
		}
	}
	return v.parse(string(text), c)
}

// jsonWhole adds a number in floating-point notation to a column of integers.
func (v *values) jsonWhole(text string, c *Column) error {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return textError(text, c.Stored, nil)
	}
	v.ints = append(v.ints, int64(f))
	return nil
}
