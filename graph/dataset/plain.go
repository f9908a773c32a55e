package dataset

import (
	"reflect"

	"millrace/dtype"
)

// basic returns the type that numbers, bools and strings of a kind have in
// tensors, nil for other kinds. An int is an int64.
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

// plainValue returns a value that is a tensor in types without names of their
// own: v itself where it has them already.
func plainValue(v reflect.Value) reflect.Value {
	elem := elemOf(v.Type())
	to := basic(elem.Kind())
	switch elem {
	case to, reflect.TypeFor[dtype.Float16](), reflect.TypeFor[dtype.BFloat16](): // which are data types of their own
		return v
	}
	if to == nil {
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
