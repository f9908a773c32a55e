package graph

import (
	"math"
	"reflect"

	"millrace"
	"millrace/tfbridge"
)

// errNoScope is the failure of the zero Tensor.
func errNoScope() error {
	return millrace.Errorf(millrace.ErrModel, "the tensor has no scope; make it with NewTensor")
}

// numberOf returns a Go number as a value of a data type, exactly but for the
// rounding to a floating-point type, and other values as they are.
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
