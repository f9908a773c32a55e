package argcheck

import (
	"encoding/binary"
	"math"

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
		if holds := v == right[0] || r.relation == "<=" && v < right[0] || r.relation == ">=" && v > right[0]; !holds {
			return millrace.Errorf(millrace.ErrSchema, "the %s of input %d is %d; it must be %s %d, or the operation ends the process",
				names[r.left.function], r.left.input, v, r.relation, right[0])
		}
	}
	return nil
}

var names = map[string]string{"rank": "rank", "size": "number of elements", "value": "value", "last": "last dimension",
	"fills": "number of bytes for all elements of input 0, each as long as a value"}

// values returns the numbers that a term stands for: several for the elements of an
// argument. known is false for an argument that does not have any.
func (t term) values(arg func(i int) Arg) (all []int64, known bool) {
	if t.function == "" {
		return []int64{t.add}, true
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
	case "size":
		n := int64(1)
		for _, d := range a.Shape {
			n *= d
		}
		return []int64{n + t.add}, true
	case "fills":
		return fills(a, arg(0))
	}
	return integers(a)
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

// Integers returns numbers as the bytes of an argument: those of int32, or else of int64.
func Integers(ints []int32, longs []int64) (data []byte) {
	for _, v := range ints {
		data = binary.NativeEndian.AppendUint32(data, uint32(v))
	}
	for _, v := range longs {
		data = binary.NativeEndian.AppendUint64(data, uint64(v))
	}
	return data
}
