package dataset

import (
	"reflect"

	"millrace/dtype"
)

// basic returns the Go type that tensors use for numbers, bools and strings of a kind,
// nil for other kinds. An int is an int64.
func basic(k reflect.Kind) reflect.Type {
	switch k {
	case reflect.Int, reflect.Int64:
		return reflect.TypeFor[int64]()
	case reflect.Int32:
		return reflect.TypeFor[int32]()
	case reflect.Int16:
		return reflect.TypeFor[int16]()
	case reflect.Int8:
		return reflect.TypeFor[int8]()
	case reflect.Uint64:
		return reflect.TypeFor[uint64]()
	case reflect.Uint32:
		return reflect.TypeFor[uint32]()
	case reflect.Uint16:
		return reflect.TypeFor[uint16]()
	case reflect.Uint8:
		return reflect.TypeFor[uint8]()
	case reflect.Float32:
		return reflect.TypeFor[float32]()
	case reflect.Float64:
		return reflect.TypeFor[float64]()
	case reflect.Complex64:
		return reflect.TypeFor[complex64]()
	case reflect.Complex128:
		return reflect.TypeFor[complex128]()
	case reflect.Bool:
		return reflect.TypeFor[bool]()
	case reflect.String:
		return reflect.TypeFor[string]()
	}
	return nil
}

// plainValue converts a tensor value to predeclared types. It returns v itself if v has
// them already.
func plainValue(v reflect.Value) reflect.Value {
	elem := elemOf(v.Type())
	to := basic(elem.Kind())
	if to == nil || to == elem || isHalf(elem) { // half-precision numbers have their own Go types
		return v
	}
	return converted(v, to)
}

// converted returns v with elements of another type.
func converted(v reflect.Value, to reflect.Type) reflect.Value {
	if v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
		return v.Convert(to)
	}
	t, depth := to, v.Type()
	for depth.Kind() == reflect.Slice || depth.Kind() == reflect.Array {
		t, depth = reflect.SliceOf(t), depth.Elem()
	}
	list := reflect.MakeSlice(t, v.Len(), v.Len())
	for i := range v.Len() {
		list.Index(i).Set(converted(v.Index(i), to))
	}
	return list
}

// hold sets v to x if the type of v represents every value of the type of x. An int
// represents an int32, a float64 a float32, a []byte a string; a slice represents
// slices whose elements it represents, and an array slices of its length.
func hold(v, x reflect.Value) bool {
	from, to := x.Kind(), v.Kind()
	switch {
	case x.Type().AssignableTo(v.Type()):
		v.Set(x)
	case widens(x.Type(), v.Type()):
		if half, ok := x.Interface().(interface{ Float32() float32 }); ok && isFloat(to) {
			v.SetFloat(float64(half.Float32()))
		} else {
			v.Set(x.Convert(v.Type()))
		}
	case from == reflect.String && to == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		v.Set(x.Convert(v.Type()))
	case from == reflect.Slice && to == reflect.Slice:
		list := reflect.MakeSlice(v.Type(), x.Len(), x.Len())
		v.Set(list)
		return holdEach(list, x)
	case from == reflect.Slice && to == reflect.Array && v.Len() == x.Len():
		return holdEach(v, x)
	default:
		return false
	}
	return true
}

// holdEach sets the elements of v to those of x.
func holdEach(v, x reflect.Value) bool {
	for i := range x.Len() {
		if !hold(v.Index(i), x.Index(i)) {
			return false
		}
	}
	return true
}

// widens reports whether a Go type represents every value of another type. Both are
// numbers, or bools or strings.
func widens(from, to reflect.Type) bool {
	a, b := from.Kind(), to.Kind()
	switch {
	case isHalf(to):
		return false // Go stores its bits in a uint16, which has other values
	case isHalf(from):
		return a == b || isFloat(b)
	}
	switch {
	case a == b:
		return a >= reflect.Bool && a <= reflect.Complex128 || a == reflect.String
	case isInt(a) && isInt(b), isUint(a) && isUint(b), isFloat(a) && isFloat(b), isComplex(a) && isComplex(b):
		return from.Bits() <= to.Bits()
	case isUint(a) && isInt(b):
		return from.Bits() < to.Bits()
	case (isInt(a) || isUint(a)) && b == reflect.Float32:
		return from.Bits() <= 16
	case (isInt(a) || isUint(a)) && b == reflect.Float64:
		return from.Bits() <= 32
	}
	return false
}

// isHalf reports whether a Go type is a 16-bit floating-point number.
func isHalf(t reflect.Type) bool {
	return t == reflect.TypeFor[dtype.Float16]() || t == reflect.TypeFor[dtype.BFloat16]()
}

func isInt(k reflect.Kind) bool     { return k >= reflect.Int && k <= reflect.Int64 }
func isUint(k reflect.Kind) bool    { return k >= reflect.Uint && k <= reflect.Uint64 }
func isFloat(k reflect.Kind) bool   { return k == reflect.Float32 || k == reflect.Float64 }
func isComplex(k reflect.Kind) bool { return k == reflect.Complex64 || k == reflect.Complex128 }
