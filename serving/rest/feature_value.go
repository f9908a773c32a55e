package rest

import (
	"strconv"
	"strings"

	"millrace/tfrecord/example"
)

// addValue takes a value of a feature. The first value decides the kind of all: strings
// or bytes, whole numbers, or floats, which have a decimal point or an exponent or are
// not finite.
func addValue(s *scanner, name string, f *example.Feature) error {
	switch c := s.peek(); c {
	case '"', '{':
		raw, err := s.bytesValue(c)
		if err != nil {
			return err
		}
		if !become(f, example.Bytes) {
			return mixed(s, name)
		}
		f.Bytes = append(f.Bytes, raw)
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

// bytesValue reads a string, or bytes in base64; c is the first byte of the value.
func (s *scanner) bytesValue(c byte) ([]byte, error) {
	if c == '{' {
		return s.b64()
	}
	return s.string()
}

// addFloat adds a number, or true or false, which contain an e as floats do.
func addFloat(s *scanner, name string, f *example.Feature, text string) error {
	if text == "true" || text == "false" {
		return addInt(s, name, f, text)
	}
	v, ok := parseFloat(text, 32)
	if !ok {
		return s.errorf("Feature: %s: %s is not a float32", name, text)
	}
	if !become(f, example.Float) {
		return mixed(s, name)
	}
	f.Floats = append(f.Floats, float32(v))
	return nil
}

// addInt adds a whole number, or true and false as 1 and 0.
func addInt(s *scanner, name string, f *example.Feature, text string) error {
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
	if !become(f, example.Int64) {
		return mixed(s, name)
	}
	f.Ints = append(f.Ints, v)
	return nil
}

// become sets the kind of a feature that has none. It returns false for a feature of
// another kind.
func become(f *example.Feature, kind example.Kind) bool {
	if f.Kind == example.None {
		f.Kind = kind
	}
	return f.Kind == kind
}

// mixed returns the error about a feature with values of two kinds.
func mixed(s *scanner, name string) error {
	return s.errorf("Unexpected element type in feature: %s: its values are not all of one kind", name)
}
