// Package size computes how many bytes the tensors of a config have, as far as that is
// known before the data are read. Sums and products stop at the largest number in place
// of an overflow.
package size

import (
	"slices"

	"millrace/dtype"
	"millrace/internal/base/machine"
	"millrace/loaders/spec"
)

// Tensor returns the bytes of tensor i in an example, padding included, and 0 if a
// dimension is not known.
func Tensor(s *spec.Spec, i int) int64 {
	t := s.Tensors[i]
	shape := t.Shape
	if s.Padding != nil {
		shape = spec.PaddedShape(shape, s.Padding[i].Shape)
	}
	return Of(t.DType, shape)
}

// Example returns the bytes of an example, as far as they are known.
func Example(s *spec.Spec) (n int64) {
	for i := range s.Tensors {
		n = Add(n, Tensor(s, i))
	}
	return n
}

// Of returns the bytes of a tensor, and 0 if a dimension is not known.
func Of(d dtype.DataType, shape []int64) int64 {
	if slices.ContainsFunc(shape, func(n int64) bool { return n < 0 }) {
		return 0
	}
	bytes, ok := spec.ByteSize(d, 1, shape)
	if !ok {
		return machine.Unlimited - 1
	}
	return bytes
}

// Add returns a sum of numbers that are not negative.
func Add(a, b int64) int64 {
	if sum := a + b; sum >= 0 {
		return sum
	}
	return machine.Unlimited - 1
}

// Multiply returns a product of numbers that are not negative.
func Multiply(a, b int64) int64 {
	if a > 0 && b > (machine.Unlimited-1)/a {
		return machine.Unlimited - 1
	}
	return a * b
}
