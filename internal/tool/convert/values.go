package convert

import (
	"fmt"
	"math"

	"millrace/loaders/spec"
	"millrace/tfrecord/example"
)

// values are the values of one column in one row, in the list of the column's kind.
type values struct {
	Choices

	ints    []int64
	floats  []float32
	texts   [][]byte
	missing bool
}

func (v *values) reset() {
	v.ints, v.floats, v.texts, v.missing = v.ints[:0], v.floats[:0], v.texts[:0], false
}

// count returns the number of values.
func (v *values) count(kind example.Kind) int64 {
	switch kind {
	case example.Int64:
		return int64(len(v.ints))
	case example.Float:
		return int64(len(v.floats))
	}
	return int64(len(v.texts))
}

// room returns an error if n more values would take too much memory.
func (v *values) room(n int64, kind example.Kind) error {
	unit := int64(stringSize)
	switch kind {
	case example.Int64:
		unit = intSize
	case example.Float:
		unit = floatSize
	}
	if n < 0 || n > maxValueBytes/unit-v.count(kind) {
		return limitError("more than %d values in one row; split the row", maxValueBytes/unit)
	}
	return nil
}

// size returns at least the bytes that the values take in a record. It is computed
// before the record is made, because texts may share their memory.
func (v *values) size() int64 {
	n := int64(len(v.ints) + 4*len(v.floats))
	for _, text := range v.texts {
		n += int64(len(text)) + 2
	}
	return n
}

// ranges are the ranges of integer types; other types have all 64-bit integers.
var ranges = map[string][2]int64{
	"bool": {0, 1}, "int8": {math.MinInt8, math.MaxInt8}, "int16": {math.MinInt16, math.MaxInt16}, "int32": {math.MinInt32, math.MaxInt32},
	"uint8": {0, math.MaxUint8}, "uint16": {0, math.MaxUint16}, "uint32": {0, math.MaxUint32},
}

// limits are the limits of a column's values, in a form that is quick to check.
type limits struct {
	kind   example.Kind // kind of the list with the values
	unit   int64        // number of values of a row, or of one element of the first dimension
	any    bool         // the first dimension has any size
	lo, hi int64        // integers
}

// kindOf returns the kind of list that stores a kind of values. Comparing it is quicker than
// comparing names.
func kindOf(stored spec.Kind) example.Kind {
	switch stored {
	case spec.Int:
		return example.Int64
	case spec.Float:
		return example.Float
	}
	return example.Bytes
}

// limitsOf returns the limits of a column.
func limitsOf(c *Column) limits {
	l := limits{kind: kindOf(c.Stored), unit: 1, any: len(c.Shape) > 0 && c.Shape[0] == -1, lo: math.MinInt64, hi: math.MaxInt64}
	for _, d := range c.Shape {
		if d >= 0 {
			l.unit *= d
		}
	}
	if r, ok := ranges[c.DType]; ok {
		l.lo, l.hi = r[0], r[1]
	}
	return l
}

// fit returns an error if the values do not match the column's entry in the manifest.
func (v *values) fit(c *Column, l *limits) error {
	if v.missing {
		if c.Optional {
			return nil
		}
		return fmt.Errorf("there is no value; give the feature \"default\": [] and a shape that begins with -1, or fill the value in")
	}
	if n := v.count(l.kind); l.any && n%l.unit != 0 || !l.any && n != l.unit {
		return fmt.Errorf("%d values do not fit the shape %v", n, c.Shape)
	}
	for _, x := range v.ints {
		if x < l.lo || x > l.hi {
			return fmt.Errorf("%d does not fit %s, which holds %d to %d", x, c.DType, l.lo, l.hi)
		}
	}
	return nil
}

// append adds the feature to a record. A missing value adds no feature.
func (v *values) append(b *example.Builder, c *Column, l *limits) {
	switch {
	case v.missing:
	case l.kind == example.Int64:
		b.Ints(c.Name, v.ints...)
	case l.kind == example.Float:
		b.Floats(c.Name, v.floats...)
	default:
		b.Bytes(c.Name, v.texts...)
	}
}
