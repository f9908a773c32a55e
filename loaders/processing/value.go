package processing

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"millrace/dtype"
	"millrace/internal/base/jsonpos"
)

// Value is a value of a tensor as it is written. Its type depends on the tensor's type,
// so the value is read when that type is known. It is nil if absent.
type Value = *jsonpos.Node

// Kind is the Go type that holds a value of a dtype.
type Kind int

// The kinds of value.
const (
	FloatKind    Kind = iota // float64
	SignedKind               // int64
	UnsignedKind             // uint64
	BoolKind                 // bool
	StringKind               // string
	ComplexKind              // complex128
)

// KindOf returns the kind of the values of a dtype.
func KindOf(d dtype.DataType) Kind {
	switch d {
	case dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64:
		return SignedKind
	case dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64:
		return UnsignedKind
	case dtype.Bool:
		return BoolKind
	case dtype.String:
		return StringKind
	case dtype.Complex64, dtype.Complex128:
		return ComplexKind
	}
	return FloatKind
}

// Readable reports whether a node is a value of a dtype.
func Readable(n *jsonpos.Node, d dtype.DataType) bool {
	_, want := ReadValue(n, d)
	return want == ""
}

// ReadValue returns the value of a node, or a description of the values that a dtype has.
func ReadValue(n *jsonpos.Node, d dtype.DataType) (value any, want string) {
	switch KindOf(d) {
	case BoolKind:
		if n.Kind() != jsonpos.Bool {
			return nil, "true or false"
		}
		return n.Bool(), ""
	case StringKind:
		if n.Kind() != jsonpos.String {
			return nil, "a string"
		}
		return n.Text(), ""
	case SignedKind, UnsignedKind:
		return readInteger(n, d)
	case ComplexKind:
		return readComplex(n, d)
	}
	return readFloat(n, d)
}

// readInteger reads an integer exactly: 64-bit ones fit no float64.
func readInteger(n *jsonpos.Node, d dtype.DataType) (any, string) {
	bits, text := d.Size()*8, string(n.Number())
	if KindOf(d) == SignedKind {
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

// largest is the smallest positive number that a float dtype rounds to infinity.
func largest(d dtype.DataType) float64 {
	switch d {
	case dtype.Half:
		return 65520
	case dtype.Bfloat16:
		return 0x1.ffp127
	case dtype.Float, dtype.Complex64:
		return 0x1.ffffffp127
	}
	return math.Inf(1)
}

// readFloat reads a number. It need not be exact, because most decimals are
// not, but it must be finite.
func readFloat(n *jsonpos.Node, d dtype.DataType) (any, string) {
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
func readComplex(n *jsonpos.Node, d dtype.DataType) (any, string) {
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

// ZeroValue returns the value of a tensor if no value is given.
func ZeroValue(d dtype.DataType) any {
	switch KindOf(d) {
	case SignedKind:
		return int64(0)
	case UnsignedKind:
		return uint64(0)
	case BoolKind:
		return false
	case StringKind:
		return ""
	case ComplexKind:
		return complex128(0)
	}
	return float64(0)
}

// OneValue returns 1 as a value of a dtype of numbers.
func OneValue(d dtype.DataType) any {
	switch KindOf(d) {
	case SignedKind:
		return int64(1)
	case UnsignedKind:
		return uint64(1)
	case ComplexKind:
		return complex128(1)
	}
	return float64(1)
}

// Less reports whether a value of a dtype of numbers is less than another value of the
// dtype.
func Less(a, b any) bool {
	switch a := a.(type) {
	case int64:
		return a < b.(int64)
	case uint64:
		return a < b.(uint64)
	case float64:
		return a < b.(float64)
	}
	return false
}
