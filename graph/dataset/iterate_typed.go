package dataset

import (
	"context"
	"iter"

	"millrace"
)

// Iterate yields the elements of d as Go values, as [Decode] makes them: a
// struct such as
//
//	type Example struct {
//		Image []float32 `tf:"image"`
//		Words []string  `tf:"words"`
//	}
//
// Values are the caller's to keep, but a *tfbridge.Tensor in them is valid
// until the next iteration. An element that does not fit the type is an error.
// Otherwise it is as [Dataset.All].
func Iterate[T any](ctx context.Context, d *Dataset, o *IterateOptions) iter.Seq2[T, error] {
	if d == nil || d.scope == nil {
		return func(yield func(T, error) bool) {
			var none T
			yield(none, millrace.Errorf(millrace.ErrModel, "iterate: the dataset is nil"))
		}
	}
	elements, t := d.All(ctx, o), d.Spec()
	return func(yield func(T, error) bool) {
		for element, err := range elements {
			var v T
			if err == nil {
				err = Decode(t, element, &v)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// ToSlice returns all elements of d as Go values, as [Iterate] gives them;
// *tfbridge.Tensor cannot be part of them. With an error come the elements
// before it.
func ToSlice[T any](ctx context.Context, d *Dataset, o *IterateOptions) ([]T, error) {
	var all []T
	for v, err := range Iterate[T](ctx, d, o) {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

// First returns the first element of d as a Go value, as [Iterate] gives it,
// without *tfbridge.Tensor. No element is an error of class
// millrace.ErrTruncated.
func First[T any](ctx context.Context, d *Dataset, o *IterateOptions) (T, error) {
	for v, err := range Iterate[T](ctx, d, o) {
		return v, err
	}
	var none T
	return none, millrace.Errorf(millrace.ErrTruncated, "the dataset has no elements")
}
