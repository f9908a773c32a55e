package dataset

import (
	"reflect"

	"millrace"
	"millrace/tfbridge"
)

// filler is a Go value that takes the tensors of a leaf: [*Sparse] and
// [*Ragged].
type filler interface {
	fill(t *Structure, tensors []*tfbridge.Tensor) error
}

// Decode stores an element of [Dataset.All], given as its tensors, in v. t is the structure
// of the element. A T is a struct whose fields are named by tags such as `tf:"image"`, a
// map[string]V or a slice, or any nesting of these, as for [Bind]. Its leaves are numbers,
// bools and strings, slices and arrays of these with one level per dimension,
// *tfbridge.Tensor, [Sparse], [Ragged] (also as slices of slices), or any. A number may
// have a wider type in Go that represents every value of the tensor's type: int or int64
// for an int32, float64 for a float32. Everything but *tfbridge.Tensor is a copy; such a
// tensor remains the caller's. An error names the field that does not fit.
func Decode[T any](t *Structure, element []*tfbridge.Tensor, v *T) error {
	if err := t.check(); err != nil {
		return err
	}
	leaves := t.Leaves()
	offsets, n := make([]int, len(leaves)), 0
	for i, leaf := range leaves {
		offsets[i] = n
		n += leaf.size()
	}
	if n != len(element) {
		return millrace.Errorf(millrace.ErrModel, "%d tensors are no %v", len(element), t)
	}
	p := &placer{leaf: func(v reflect.Value, leaf *Structure, i int) error {
		return decodeLeaf(v, leaf, element[offsets[i]:offsets[i]+leaf.size()])
	}}
	return p.place(reflect.ValueOf(v).Elem(), t)
}

// decodeLeaf sets v to the tensors of a leaf.
func decodeLeaf(v reflect.Value, t *Structure, tensors []*tfbridge.Tensor) error {
	last := tensors[len(tensors)-1]
	switch {
	case v.Type() == reflect.TypeFor[*tfbridge.Tensor]() && len(tensors) == 1:
		v.Set(reflect.ValueOf(last))
		return nil
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decodeLeaf(v.Elem(), t, tensors)
	}
	if x, ok := v.Addr().Interface().(filler); ok {
		return x.fill(t, tensors)
	}
	switch {
	case len(tensors) == 1:
		return scanValue(v, last, t)
	case t.Kind == KindSparse && v.Kind() == reflect.Interface:
		return natural(v, t, tensors)
	case t.Kind == KindRagged && v.Kind() == reflect.Interface:
		return natural(v, t, tensors)
	case t.Kind == KindRagged:
		return rows(v, t, tensors)
	}
	return errMisfit(v.Type(), t)
}

// natural sets an interface to a Sparse or Ragged whose values have the Go type of the
// tensor's elements.
func natural(v reflect.Value, t *Structure, tensors []*tfbridge.Tensor) error {
	x := naturalOf(t)
	if x == nil {
		return errMisfit(v.Type(), t)
	}
	if err := x.fill(t, tensors); err != nil {
		return err
	}
	return assign(v, reflect.ValueOf(x).Elem(), t)
}

// naturalOf returns a new Sparse or Ragged for the values of t, or nil if t is dense.
func naturalOf(t *Structure) filler {
	switch t.Spec.DType {
	case tfbridge.Float:
		return naturalFor[float32](t)
	case tfbridge.Double:
		return naturalFor[float64](t)
	case tfbridge.Int64:
		return naturalFor[int64](t)
	case tfbridge.Int32:
		return naturalFor[int32](t)
	case tfbridge.Uint8:
		return naturalFor[uint8](t)
	case tfbridge.Bool:
		return naturalFor[bool](t)
	case tfbridge.String:
		return naturalFor[string](t)
	}
	return nil
}

func naturalFor[T any](t *Structure) filler {
	if t.Kind == KindSparse {
		return &Sparse[T]{}
	}
	return &Ragged[T]{}
}

// rows sets a slice of slices to a ragged tensor.
func rows(v reflect.Value, t *Structure, tensors []*tfbridge.Tensor) error {
	last := len(tensors) - 1
	depth := v.Type()
	for range last {
		if depth.Kind() != reflect.Slice {
			return errMisfit(v.Type(), t)
		}
		depth = depth.Elem()
	}
	if depth.Kind() != reflect.Slice {
		return errMisfit(v.Type(), t)
	}
	inner := reflect.New(depth).Elem()
	if err := scanValue(inner, tensors[last], t); err != nil {
		return err
	}
	for i := last - 1; i >= 0; i-- {
		splits, err := splitsOf(tensors[i])
		if err != nil {
			return err
		}
		outer := reflect.MakeSlice(reflect.SliceOf(inner.Type()), max(len(splits)-1, 0), max(len(splits)-1, 0))
		for row := range outer.Len() {
			outer.Index(row).Set(inner.Slice3(int(splits[row]), int(splits[row+1]), int(splits[row+1])))
		}
		inner = outer
	}
	v.Set(inner.Convert(v.Type()))
	return nil
}

// scan sets *v to the contents of a tensor.
func scan[T any](v *T, tensor *tfbridge.Tensor, t *Structure) error {
	return scanValue(reflect.ValueOf(v).Elem(), tensor, t)
}

// scanFlat sets *v to the elements of a tensor in row-major order.
func scanFlat[T any](v *[]T, tensor *tfbridge.Tensor, t *Structure) error {
	if len(tensor.Shape()) == 1 {
		return scan(v, tensor, t)
	}
	x := reflect.ValueOf(tensor.Value())
	var flat func(x reflect.Value) error
	flat = func(x reflect.Value) error {
		if x.Type().Elem().Kind() == reflect.Slice {
			for i := range x.Len() {
				if err := flat(x.Index(i)); err != nil {
					return err
				}
			}
			return nil
		}
		var row []T
		if err := set(reflect.ValueOf(&row).Elem(), x, t); err != nil {
			return err
		}
		*v = append(*v, row...)
		return nil
	}
	*v = []T{}
	return flat(x)
}

// scanValue sets v to the contents of a tensor.
func scanValue(v reflect.Value, tensor *tfbridge.Tensor, t *Structure) error {
	value := tensor.Value()
	if value == nil {
		return errMisfit(v.Type(), t)
	}
	return set(v, reflect.ValueOf(value), t)
}

// set sets v to x, whose type must be compatible: see [hold].
func set(v, x reflect.Value, t *Structure) error {
	if hold(v, x) {
		return nil
	}
	if v.Kind() == reflect.Array && v.Len() != x.Len() && v.Type().Elem() == x.Type().Elem() {
		return millrace.Errorf(millrace.ErrModel, "%v cannot hold %v with %d elements; use %v", v.Type(), t, x.Len(), x.Type())
	}
	return millrace.Errorf(millrace.ErrModel, "%v cannot hold %v; use %v", v.Type(), t, x.Type())
}
