package argcheck

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"millrace"
	"millrace/dtype"
)

// Check returns an error if arguments break the rule.
func (r Rule) Check(arg func(i int) Arg) error {
	right, _ := r.right.values(arg)
	left, known := r.left.values(arg)
	if !known || len(right) != 1 {
		return nil // the kernel returns an error for such an argument
	}
	for _, v := range left {
		if holds := v == right[0] || r.hasOr && v == r.or || r.relation == "<=" && v < right[0] || r.relation == ">=" && v > right[0]; !holds {
			or := ""
			if r.hasOr {
				or = fmt.Sprintf(" or %d", r.or)
			}
			return millrace.Errorf(millrace.ErrSchema, "the %s of input %d is %d; it must be %s %d%s, or the operation ends the process",
				names[r.left.function], r.left.input, v, r.relation, right[0], or)
		}
	}
	return nil
}

var names = map[string]string{"rank": "rank", "size": "number of elements", "value": "value", "last": "last dimension",
	"fills": "number of bytes for all elements of input 0, each as long as a value", "bytes": "number of bytes of all strings",
	"memory": "number of bytes", "product": "product of all elements", "first": "first dimension", "head": "first element", "finite": "largest absolute value, the next whole number,", "step": "difference of two elements", "offset": "value less the elements of input 0 in the rows before",
	"repeats": "number of bytes of the strings of input 0, repeated as it says", "filledwith": "number of bytes of all strings that it asks for",
	"slice": "number of elements of a row", "each": "number of elements for each element of input 1,",
	"picks":  "number of bytes of as many strings of input 0 as it may pick",
	"joined": "number of bytes of all strings together, of inputs below", "crossed": "number of bytes of all strings together, of inputs below"}

// values returns the numbers of a term: several if it means the elements of an
// argument. known is false for an argument without numbers.
func (t term) values(arg func(i int) Arg) (all []int64, known bool) {
	switch t.function {
	case "":
		return []int64{t.add}, true
	case "joined", "crossed":
		return []int64{together(arg, t.input, t.function == "crossed")}, true
	}
	a := arg(t.input)
	switch t.function {
	case "rank":
		return []int64{int64(len(a.Shape)) + t.add}, true
	case "last":
		if len(a.Shape) == 0 {
			return nil, false
		}
		return []int64{a.Shape[len(a.Shape)-1] + t.add}, true
	case "first", "slice":
		if len(a.Shape) == 0 {
			return nil, false
		}
		if t.function == "first" {
			return []int64{a.Shape[0] + t.add}, true
		}
		return []int64{Arg{Shape: a.Shape[1:]}.size() + t.add}, true
	case "size":
		n := int64(1)
		for _, d := range a.Shape {
			n *= d
		}
		return []int64{n + t.add}, true
	case "each":
		return each(a, arg(1))
	case "memory":
		return []int64{times(a.size(), int64(a.DType.Size())) + a.Bytes}, true
	case "offset":
		return offsets(a, arg(0))
	case "product":
		return product(a, 1)
	case "step":
		return steps(a)
	case "head":
		all, known := integers(a)
		return all[:min(len(all), 1)], known
	case "finite":
		return magnitudes(a)
	case "fills":
		return fills(a, arg(0))
	case "bytes":
		return []int64{a.Bytes}, true
	case "repeats":
		return product(a, arg(0).Bytes)
	case "filledwith":
		return product(a, arg(1).Longest)
	case "picks":
		return picks(a, arg(0)), true
	}
	return integers(a)
}

// each returns the number of elements for each element of another argument, -1 if that is no
// whole number. A scalar is repeated.
func each(a, of Arg) (all []int64, known bool) {
	n := of.size()
	switch {
	case len(a.Shape) == 0 || n == 0:
		return nil, false
	case a.size()%n != 0:
		return []int64{-1}, true
	}
	return []int64{a.size() / n}, true
}

// fills returns each value times the number of elements of another argument.
func fills(value, of Arg) (all []int64, known bool) {
	n := int64(1)
	for _, d := range of.Shape {
		n *= d
	}
	all, known = integers(value)
	for i, v := range all {
		if n > 0 && v > math.MaxInt64/n {
			all[i] = math.MaxInt64
			continue
		}
		all[i] = v * n
	}
	return all, known
}

// offsets returns each value less the elements of another argument in the rows before
// the value's row.
func offsets(values, of Arg) (all []int64, known bool) {
	all, known = integers(values)
	if !known || len(values.Shape) == 0 || len(of.Shape) == 0 || len(all) == 0 {
		return all, known
	}
	row, slice := Arg{Shape: values.Shape[1:]}.size(), Arg{Shape: of.Shape[1:]}.size()
	for i := range all {
		switch before := times(int64(i)/row, slice); {
		case all[i] < 0:
		case all[i] < before:
			all[i] = -1
		default:
			all[i] -= before
		}
	}
	return all, known
}

// magnitudes returns the absolute values of numbers of float32, rounded up. Those that are
// not finite, or do not fit, are the largest number.
func magnitudes(values Arg) (all []int64, known bool) {
	if values.DType != dtype.Float {
		return nil, false
	}
	for b := values.Data; len(b) >= 4; b = b[4:] {
		v := math.Ceil(math.Abs(float64(math.Float32frombits(binary.NativeEndian.Uint32(b)))))
		if v < math.MaxInt64 { // false for NaN
			all = append(all, int64(v))
		} else {
			all = append(all, math.MaxInt64)
		}
	}
	return all, true
}

// steps returns each value less the one before, and the first value.
func steps(values Arg) (all []int64, known bool) {
	all, known = integers(values)
	for i := len(all) - 1; i > 0; i-- {
		if all[i] >= all[i-1] {
			all[i] = 0 // the difference may not fit
		} else {
			all[i] = -1
		}
	}
	return all, known
}

// product returns the product of all values and a number.
func product(values Arg, of int64) (all []int64, known bool) {
	factors, known := integers(values)
	for _, v := range factors {
		of = times(of, max(v, 1))
	}
	return []int64{of}, known
}

// times multiplies numbers that are not negative. It returns the largest number if the
// product overflows.
func times(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// together returns the size of the strings of the first n arguments joined in one
// tensor. Scalars count once for each element of the largest argument or, if crossed,
// for each combination of elements of arguments with other shapes.
func together(arg func(i int) Arg, n int, crossed bool) (sum int64) {
	most := int64(1)
	for i := range n {
		most = max(most, arg(i).size())
	}
	for i := range n {
		a, copies := arg(i), int64(1)
		switch {
		case crossed:
			for k := range n {
				if other := arg(k); k != i && !slices.Equal(other.Shape, a.Shape) {
					copies = times(copies, other.size())
				}
			}
		case len(a.Shape) == 0:
			copies = most
		}
		if sum += times(a.Bytes, copies); sum < 0 {
			return math.MaxInt64
		}
	}
	return sum
}

// size returns the number of elements.
func (a Arg) size() int64 {
	n := int64(1)
	for _, d := range a.Shape {
		n = times(n, d)
	}
	return n
}

// picks returns an upper bound for the size of the strings that indices pick out of a
// tensor: each index counts as the largest slice.
func picks(indices, from Arg) []int64 {
	n, slice := int64(1), int64(1)
	for _, d := range indices.Shape {
		n = times(n, d)
	}
	for _, d := range from.Shape[min(1, len(from.Shape)):] {
		slice = times(slice, d)
	}
	return []int64{min(times(n, times(slice, from.Longest)), times(n, from.Bytes))}
}

// integers returns the elements of an argument of integers.
func integers(a Arg) (all []int64, ok bool) {
	switch a.DType {
	case dtype.Int32:
		for b := a.Data; len(b) >= 4; b = b[4:] {
			all = append(all, int64(int32(binary.NativeEndian.Uint32(b))))
		}
	case dtype.Int64:
		for b := a.Data; len(b) >= 8; b = b[8:] {
			all = append(all, int64(binary.NativeEndian.Uint64(b)))
		}
	case dtype.Uint64:
		for b := a.Data; len(b) >= 8; b = b[8:] {
			all = append(all, int64(min(binary.NativeEndian.Uint64(b), math.MaxInt64)))
		}
	default:
		return nil, false
	}
	return all, true
}

// Integers returns numbers as the bytes of an argument of int32 or int64.
func Integers(ints []int32, longs []int64) (data []byte) {
	for _, v := range ints {
		data = binary.NativeEndian.AppendUint32(data, uint32(v))
	}
	for _, v := range longs {
		data = binary.NativeEndian.AppendUint64(data, uint64(v))
	}
	return data
}
