package graph

import (
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"strings"

	"millrace"
	"millrace/tfbridge"
)

// errNoScope is the failure of the zero Tensor.
func errNoScope() error {
	return millrace.Errorf(millrace.ErrModel, "the tensor has no scope; make it with NewTensor")
}

// numberOf converts a Go number to a data type. Only floating-point types may round it.
// Other values are returned unchanged.
func numberOf(dt tfbridge.DataType, y any) (any, error) {
	v := reflect.ValueOf(y)
	switch y.(type) {
	case tfbridge.Float16, tfbridge.BFloat16: // bits, not a number of Go's
		return y, nil
	}
	switch {
	case v.IsValid() && v.CanInt():
		return intAs(dt, v.Int())
	case v.IsValid() && v.CanUint():
		if v.Uint() > math.MaxInt64 {
			if dt == tfbridge.Uint64 {
				return v.Uint(), nil
			}
			return floatAs(dt, float64(v.Uint()))
		}
		return intAs(dt, int64(v.Uint()))
	case v.IsValid() && v.CanFloat():
		return floatAs(dt, v.Float())
	case y == nil:
		return nil, millrace.Errorf(millrace.ErrModel, "nil is no value of a tensor")
	}
	return y, nil
}

// intAs returns n as a value of a data type.
func intAs(dt tfbridge.DataType, n int64) (any, error) {
	lo, hi, ok := dt.IntRange()
	if !ok {
		return floatAs(dt, float64(n))
	}
	if n < lo || n > 0 && uint64(n) > hi {
		return nil, millrace.Errorf(millrace.ErrModel, "%d is not a value of %v", n, dt)
	}
	switch dt {
	case tfbridge.Int8:
		return int8(n), nil
	case tfbridge.Int16:
		return int16(n), nil
	case tfbridge.Int32:
		return int32(n), nil
	case tfbridge.Uint8:
		return uint8(n), nil
	case tfbridge.Uint16:
		return uint16(n), nil
	case tfbridge.Uint32:
		return uint32(n), nil
	case tfbridge.Uint64:
		return uint64(n), nil
	}
	return n, nil
}

// floatAs returns x as a value of a data type.
func floatAs(dt tfbridge.DataType, x float64) (any, error) {
	switch dt {
	case tfbridge.Float:
		return float32(x), nil
	case tfbridge.Double:
		return x, nil
	case tfbridge.Complex64:
		return complex64(complex(x, 0)), nil
	case tfbridge.Complex128:
		return complex(x, 0), nil
	case tfbridge.Half:
		return tfbridge.NewFloat16(float32(x)), nil
	case tfbridge.Bfloat16:
		return tfbridge.NewBFloat16(float32(x)), nil
	}
	if _, _, ok := dt.IntRange(); ok && x == math.Trunc(x) && math.Abs(x) <= 1<<53 {
		return intAs(dt, int64(x))
	}
	return nil, millrace.Errorf(millrace.ErrModel, "%v is not a value of %v; cast the tensor first", x, dt)
}

// # Go values as inputs of a signature
//
// A signature takes one data type, and Go programs have their numbers in
// others: a []int where the model takes int64, a []float64 where it takes
// float32. [Model.Call] converts what it can convert without changing a value,
// element by element:
//
//	[]int{1, 2}          int64, float32, ...  converted
//	[]float64{0.5, 2}    float32              converted
//	[]float64{0.1}       float32              refused: 0.1 would change
//	[]int{300}           uint8                refused
//	[]byte, [][]byte     string               one string, a vector of strings
//	0.1                  float32              rounded
//
// Only a number that stands alone is rounded, to a floating-point type: Go makes
// a float64 of every constant such as 0.1. In a slice the program has chosen the
// type, and rounding its elements is the program's choice too.

// inputOf returns a Go value as one whose tensor has a data type. It returns
// values that are not numbers or bytes as they are.
func inputOf(dt tfbridge.DataType, value any) (any, error) {
	v := reflect.ValueOf(value)
	if !v.IsValid() || v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return numberOf(dt, value)
	}
	to := tfbridge.TypeOf(dt, nil)
	from := v.Type()
	for isList(from) && !(dt == tfbridge.String && isBytes(from)) {
		from = from.Elem()
	}
	switch {
	case to == nil || from == to:
		return value, nil
	case dt == tfbridge.String && isBytes(from):
	case !isNumber(from) || !isNumber(to):
		return value, nil
	}
	c := &exactConversion{dtype: dt, to: to, from: from}
	converted, err := c.list(v)
	if err != nil {
		return nil, err
	}
	return converted.Interface(), nil
}

// exactConversion converts the elements of nested slices to another type.
type exactConversion struct {
	dtype    tfbridge.DataType
	to, from reflect.Type
	index    []int // index of the current element, for messages
}

// list returns v, a list or an element of one, with its elements converted.
func (c *exactConversion) list(v reflect.Value) (reflect.Value, error) {
	if v.Type() == c.from {
		return c.element(v)
	}
	typ := c.to
	for t := v.Type(); t != c.from; t = t.Elem() {
		typ = reflect.SliceOf(typ)
	}
	out := reflect.MakeSlice(typ, v.Len(), v.Len())
	c.index = append(c.index, 0)
	for i := range v.Len() {
		c.index[len(c.index)-1] = i
		e, err := c.list(v.Index(i))
		if err != nil {
			return reflect.Value{}, err
		}
		out.Index(i).Set(e)
	}
	c.index = c.index[:len(c.index)-1]
	return out, nil
}

// element returns one element converted.
func (c *exactConversion) element(v reflect.Value) (reflect.Value, error) {
	if c.dtype == tfbridge.String {
		return reflect.ValueOf(string(v.Bytes())), nil
	}
	out := reflect.New(c.to).Elem()
	if !setNumber(out, v) {
		var at strings.Builder
		for _, i := range c.index {
			fmt.Fprintf(&at, "[%d]", i)
		}
		return reflect.Value{}, millrace.Errorf(millrace.ErrModel,
			"element %s is %v, which %v does not hold exactly; convert the %v values before the call", &at, v, c.dtype, c.from)
	}
	return out, nil
}

func isList(t reflect.Type) bool { return t.Kind() == reflect.Slice || t.Kind() == reflect.Array }

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

// isNumber reports whether values of a type are numbers, complex ones included.
func isNumber(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Complex128 && t.Kind() != reflect.Uintptr
}

// setNumber sets dst to the number in src. It reports false if the type of dst
// does not hold that number.
func setNumber(dst, src reflect.Value) bool {
	switch x := src.Interface().(type) {
	case tfbridge.Float16:
		return setFloat(dst, float64(x.Float32()))
	case tfbridge.BFloat16:
		return setFloat(dst, float64(x.Float32()))
	}
	switch {
	case src.CanInt():
		return setInt(dst, src.Int())
	case src.CanUint():
		return setUint(dst, src.Uint())
	case src.CanComplex():
		return setComplex(dst, src.Complex())
	}
	return setFloat(dst, src.Float())
}

// isHalf reports whether v holds the bits of a floating-point number of 16 bits.
func isHalf(v reflect.Value) bool {
	return v.Type() == reflect.TypeFor[tfbridge.Float16]() || v.Type() == reflect.TypeFor[tfbridge.BFloat16]()
}

func setInt(dst reflect.Value, n int64) bool {
	switch {
	case n >= 0:
		return setUint(dst, uint64(n))
	case dst.CanInt():
		dst.SetInt(n)
		return !dst.OverflowInt(n)
	case dst.CanUint() && !isHalf(dst):
		return false
	}
	return inFloat64(-uint64(n)) && setFloat(dst, float64(n))
}

func setUint(dst reflect.Value, n uint64) bool {
	switch {
	case dst.CanInt():
		dst.SetInt(int64(n))
		return n <= math.MaxInt64 && !dst.OverflowInt(int64(n))
	case dst.CanUint() && !isHalf(dst):
		dst.SetUint(n)
		return !dst.OverflowUint(n)
	}
	return inFloat64(n) && setFloat(dst, float64(n))
}

// inFloat64 reports whether a float64 holds n: whether its digits fit in 53 bits.
func inFloat64(n uint64) bool { return bits.Len64(n)-bits.TrailingZeros64(n) <= 53 }

func setFloat(dst reflect.Value, x float64) bool {
	switch p := dst.Addr().Interface().(type) {
	case *tfbridge.Float16:
		*p = tfbridge.NewFloat16(float32(x))
		return same(float64(p.Float32()), x)
	case *tfbridge.BFloat16:
		*p = tfbridge.NewBFloat16(float32(x))
		return same(float64(p.Float32()), x)
	}
	switch {
	case dst.CanComplex():
		return setComplex(dst, complex(x, 0))
	case dst.CanFloat():
		dst.SetFloat(x)
		return same(dst.Float(), x)
	case x != math.Trunc(x) || x < -1<<63 || x >= 1<<64: // infinities and NaN included
		return false
	case x < 0:
		return setInt(dst, int64(x))
	}
	return setUint(dst, uint64(x))
}

func setComplex(dst reflect.Value, z complex128) bool {
	if !dst.CanComplex() {
		return imag(z) == 0 && setFloat(dst, real(z))
	}
	dst.SetComplex(z)
	return same(real(dst.Complex()), real(z)) && same(imag(dst.Complex()), imag(z))
}

// same reports whether two numbers are equal or both NaN.
func same(a, b float64) bool { return a == b || a != a && b != b }
