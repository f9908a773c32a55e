package cases

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// tensor is a tensor of an output or an expectation. Its values are
// comparable with ==: int64, uint64, float64, "nan", bool, bytesValue or
// complexValue, by dtype.
type tensor struct {
	dtype  string
	shape  []int
	values []any
}

type bytesValue string

// complexValue has the real and the imaginary part, each a float64 or "nan".
type complexValue [2]any

// nan represents every NaN, because a NaN does not equal itself.
const nan = "nan"

// size returns the number of elements of a shape.
func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func readTensor(raw []byte, where string) (*tensor, error) {
	var obj struct {
		DType  *string            `json:"dtype"`
		Shape  *[]json.RawMessage `json:"shape"`
		Values *[]json.RawMessage `json:"values"`
	}
	if err := json.Unmarshal(raw, &obj); err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	if obj.DType == nil || obj.Shape == nil || obj.Values == nil {
		return nil, fmt.Errorf("%s: not an object with dtype, shape and values", where)
	}
	t := &tensor{dtype: *obj.DType, shape: make([]int, len(*obj.Shape)), values: make([]any, len(*obj.Values))}
	for i, r := range *obj.Shape {
		d, err := strconv.ParseUint(string(r), 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%s: dimension %s is not a size", where, r)
		}
		t.shape[i] = int(d)
	}
	if len(t.values) != size(t.shape) {
		return nil, fmt.Errorf("%s: %d values for shape %v", where, len(t.values), t.shape)
	}
	for i, r := range *obj.Values {
		v, err := readValue(r, t.dtype)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		t.values[i] = v
	}
	return t, nil
}

// integerBits are the sizes of the integer dtypes.
var integerBits = map[string]int{
	"int8": 8, "int16": 16, "int32": 32, "int64": 64,
	"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64,
}

func readValue(raw json.RawMessage, dtype string) (any, error) {
	if bits, ok := integerBits[dtype]; ok {
		return readInteger(string(raw), dtype, bits)
	}
	switch dtype {
	case "float16", "bfloat16", "float32", "float64":
		return readReal(raw, dtype)
	case "bool":
		var v *bool
		if err := json.Unmarshal(raw, &v); err != nil || v == nil {
			return nil, fmt.Errorf("%s is not a bool", raw)
		}
		return *v, nil
	case "string":
		return readBytes(raw)
	case "complex64":
		return readComplex(raw, "float32")
	case "complex128":
		return readComplex(raw, "float64")
	}
	return nil, fmt.Errorf("unknown dtype %q", dtype)
}

func readInteger(text, dtype string, bits int) (any, error) {
	if strings.HasPrefix(dtype, "u") {
		if text == "-0" {
			text = "0"
		}
		if v, err := strconv.ParseUint(text, 10, bits); err == nil {
			return v, nil
		}
	} else if v, err := strconv.ParseInt(text, 10, bits); err == nil && text[0] != '+' {
		return v, nil
	}
	return nil, fmt.Errorf("%s is not a value of %s", text, dtype)
}

func readReal(raw json.RawMessage, dtype string) (any, error) {
	text := string(raw)
	switch text {
	case `"NaN"`:
		return nan, nil
	case `"Infinity"`:
		return math.Inf(1), nil
	case `"-Infinity"`:
		return math.Inf(-1), nil
	}
	if !strings.ContainsAny(text[:1], "-0123456789") {
		return nil, fmt.Errorf("%s is not a number", text)
	}
	v, _ := strconv.ParseFloat(text, 64) // a number out of range becomes infinity, as it should
	return round(v, dtype) + 0, nil      // -0 + 0 is 0
}

func readBytes(raw json.RawMessage) (any, error) {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil || text == nil || strings.ContainsAny(*text, "\r\n") {
		return nil, fmt.Errorf("%s is not base64", raw)
	}
	data, err := base64.StdEncoding.DecodeString(*text)
	if err != nil {
		return nil, fmt.Errorf("%s is not base64", raw)
	}
	return bytesValue(data), nil
}

func readComplex(raw json.RawMessage, part string) (any, error) {
	var pair []json.RawMessage
	if err := json.Unmarshal(raw, &pair); err != nil || len(pair) != 2 {
		return nil, fmt.Errorf("%s is not a [real, imaginary] pair", raw)
	}
	var v complexValue
	for i, r := range pair {
		x, err := readReal(bytes.TrimSpace(r), part)
		if err != nil {
			return nil, err
		}
		v[i] = x
	}
	return v, nil
}

// round rounds v to a float dtype, to nearest, ties to even.
func round(v float64, dtype string) float64 {
	switch dtype {
	case "float16":
		return roundMantissa(v, 11, -24, 65504)
	case "bfloat16":
		f := float64(float32(v))
		return roundMantissa(f, 8, -133, 0x1.fep127)
	case "float32":
		return float64(float32(v))
	}
	return v
}

// roundMantissa rounds v to bits significant bits, but to no finer multiple
// than 2^least. A result above largest becomes infinite.
func roundMantissa(v float64, bits, least int, largest float64) float64 {
	if v == 0 || math.IsInf(v, 0) {
		return v
	}
	_, exp := math.Frexp(v)
	unit := math.Ldexp(1, max(exp-bits, least))
	r := math.RoundToEven(v/unit) * unit
	if math.Abs(r) > largest {
		return math.Inf(int(math.Copysign(1, v)))
	}
	return r
}

// isZero reports whether v is the zero that pads numbers.
func isZero(v any) bool {
	return v == any(int64(0)) || v == any(uint64(0)) || v == any(0.0) || v == any(false)
}

// zero returns the padding value of a tensor of dtype.
func zero(dtype string) any {
	switch dtype {
	case "bool":
		return false
	case "string":
		return bytesValue("")
	case "complex64", "complex128":
		return complexValue{0.0, 0.0}
	case "float16", "bfloat16", "float32", "float64":
		return 0.0
	}
	if strings.HasPrefix(dtype, "u") {
		return uint64(0)
	}
	return int64(0)
}
