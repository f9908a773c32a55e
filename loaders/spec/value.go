package spec

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/tfbridge"
)

// Value is a value of a tensor as it is written. Its type depends on the
// tensor's, so it is read when that is known. It is nil if absent.
type Value = *jsonpos.Node

// The kinds of value, by the Go type that holds one.
type kindOfValue int

const (
	floatValue    kindOfValue = iota // float64
	signedValue                      // int64
	unsignedValue                    // uint64
	boolValue                        // bool
	stringValue                      // string
	complexValue                     // complex128
)

func valueKind(d tfbridge.DataType) kindOfValue {
	switch d {
	case tfbridge.Int8, tfbridge.Int16, tfbridge.Int32, tfbridge.Int64:
		return signedValue
	case tfbridge.Uint8, tfbridge.Uint16, tfbridge.Uint32, tfbridge.Uint64:
		return unsignedValue
	case tfbridge.Bool:
		return boolValue
	case tfbridge.String:
		return stringValue
	case tfbridge.Complex64, tfbridge.Complex128:
		return complexValue
	}
	return floatValue
}

// value reads a value of a dtype; an absent one is zero. What is no value of
// the dtype is reported.
func (c *checker) value(at *jsonpos.Node, d tfbridge.DataType, v Value) (any, bool) {
	if v == nil {
		return ZeroValue(d), true
	}
	if v.Kind() == jsonpos.Null {
		return nil, false // reported when it was read
	}
	value, want := readValue(v, d)
	if want == "" {
		return value, true
	}
	report := c.inConfig.Report(at, "must be %s for dtype %q, got %s", want, d.String(), decl.Show(v))
	if v.Kind() == jsonpos.String && valueKind(d) != stringValue {
		if inner, err := jsonpos.Parse([]byte(v.Text())); err == nil && readable(inner, d) {
			report.Hint = fmt.Sprintf("write %s without quotes", decl.Show(inner))
		}
	}
	return nil, false
}

func readable(n *jsonpos.Node, d tfbridge.DataType) bool {
	_, want := readValue(n, d)
	return want == ""
}

// readValue returns the value of a node, or what it should be instead.
func readValue(n *jsonpos.Node, d tfbridge.DataType) (value any, want string) {
	switch valueKind(d) {
	case boolValue:
		if n.Kind() != jsonpos.Bool {
			return nil, "true or false"
		}
		return n.Bool(), ""
	case stringValue:
		if n.Kind() != jsonpos.String {
			return nil, "a string"
		}
		return n.Text(), ""
	case signedValue, unsignedValue:
		return readInteger(n, d)
	case complexValue:
		return readComplex(n, d)
	}
	return readFloat(n, d)
}

// readInteger reads an integer exactly: 64-bit ones fit no float64.
func readInteger(n *jsonpos.Node, d tfbridge.DataType) (any, string) {
	bits, text := d.Size()*8, string(n.Number())
	if valueKind(d) == signedValue {
		if v, err := strconv.ParseInt(text, 10, bits); err == nil {
			return v, ""
		}
		return nil, fmt.Sprintf("an integer from %d to %d", int64(-1)<<(bits-1), int64(1)<<(bits-1)-1)
	}
	if v, err := strconv.ParseUint(strings.Replace(text, "-0", "0", 1), 10, bits); err == nil {
		return v, ""
	}
	return nil, fmt.Sprintf("an integer from 0 to %d", uint64(math.MaxUint64)>>(64-bits))
}

// largest is the number from which on a float dtype has only infinity.
func largest(d tfbridge.DataType) float64 {
	switch d {
	case tfbridge.Half:
		return 65520
	case tfbridge.Bfloat16:
		return 0x1.ffp127
	case tfbridge.Float, tfbridge.Complex64:
		return 0x1.ffffffp127
	}
	return math.Inf(1)
}

// readFloat reads a number. It need not be exact, because most decimals are
// not, but it must be finite.
func readFloat(n *jsonpos.Node, d tfbridge.DataType) (any, string) {
	if n.Kind() != jsonpos.Number {
		return nil, "a number"
	}
	v, _ := strconv.ParseFloat(string(n.Number()), 64) // too large gives infinity
	if math.Abs(v) >= largest(d) {
		return nil, "a number that is finite"
	}
	return v, ""
}

// readComplex reads a number or a pair [real, imaginary].
func readComplex(n *jsonpos.Node, d tfbridge.DataType) (any, string) {
	if n.Kind() == jsonpos.Number {
		re, want := readFloat(n, d)
		if want != "" {
			return nil, want
		}
		return complex(re.(float64), 0), ""
	}
	if n.Kind() != jsonpos.List || n.Len() != 2 {
		return nil, "a number or a pair [real, imaginary]"
	}
	re, want := readFloat(n.Elem(0), d)
	im, wantImag := readFloat(n.Elem(1), d)
	if want != "" || wantImag != "" {
		return nil, "a pair of finite numbers [real, imaginary]"
	}
	return complex(re.(float64), im.(float64)), ""
}

// IsUnsigned reports whether the values of a dtype are unsigned integers.
func IsUnsigned(d tfbridge.DataType) bool { return valueKind(d) == unsignedValue }
