package convert

import (
	"fmt"
	"math"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfrecord/example"
)

// values are those of one column in one row, in the list of the column's kind.
type values struct {
	ints    []int64
	floats  []float32
	texts   [][]byte
	missing bool
}

func (v *values) reset() {
	*v = values{ints: v.ints[:0], floats: v.floats[:0], texts: v.texts[:0]}
}

// float adds a number that is stored as 32 bits. It returns an error if those cannot
// hold it.
func (v *values) float(x float64) error {
	if math.Abs(x) > math.MaxFloat32 && !math.IsInf(x, 0) {
		return fmt.Errorf("%v does not fit a float32, which is what a record stores", x)
	}
	v.floats = append(v.floats, float32(x))
	return nil
}

// count returns the number of values.
func (v *values) count(stored spec.Kind) int64 {
	switch stored {
	case spec.Int:
		return int64(len(v.ints))
	case spec.Float:
		return int64(len(v.floats))
	}
	return int64(len(v.texts))
}

// ranges are the integers that a type holds; other types hold all of 64 bits.
var ranges = map[string][2]int64{
	"bool": {0, 1}, "int8": {math.MinInt8, math.MaxInt8}, "int16": {math.MinInt16, math.MaxInt16}, "int32": {math.MinInt32, math.MaxInt32},
	"uint8": {0, math.MaxUint8}, "uint16": {0, math.MaxUint16}, "uint32": {0, math.MaxUint32},
}

// fit returns an error if the values are not what the manifest says of the column.
func (v *values) fit(c *Column) error {
	if v.missing {
		if c.Optional {
			return nil
		}
		return fmt.Errorf("there is no value; give the feature \"default\": [] and a shape that begins with -1, or fill the value in")
	}
	n, want := v.count(c.Stored), int64(1)
	for _, d := range c.Shape {
		if d >= 0 {
			want *= d
		}
	}
	any := len(c.Shape) > 0 && c.Shape[0] == -1
	if any && n%want != 0 || !any && n != want {
		return fmt.Errorf("%d values do not fit the shape %v", n, c.Shape)
	}
	if r, ok := ranges[c.DType]; ok {
		for _, x := range v.ints {
			if x < r[0] || x > r[1] {
				return fmt.Errorf("%d does not fit %s, which holds %d to %d", x, c.DType, r[0], r[1])
			}
		}
	}
	return nil
}

// append adds the feature to a record. A value that is missing adds none.
func (v *values) append(b *example.Builder, c *Column) {
	switch {
	case v.missing:
	case c.Stored == spec.Int:
		b.Ints(c.Name, v.ints...)
	case c.Stored == spec.Float:
		b.Floats(c.Name, v.floats...)
	default:
		b.Bytes(c.Name, v.texts...)
	}
}

// cellError places an error at a row and a column of a file.
func cellError(path string, row int64, column string, cause error) error {
	e := millrace.Errorf(millrace.ErrSchema, "row %d, column %s: %w", row, millrace.QuoteData([]byte(column)), cause)
	e.File = path
	return e
}

// textError says which text is not a number.
func textError(text string, stored spec.Kind, why error) error {
	if why != nil {
		return fmt.Errorf("%s %w", millrace.QuoteData([]byte(text)), why)
	}
	what := map[spec.Kind]string{spec.Int: "an integer", spec.Float: "a number"}[stored]
	return fmt.Errorf("%s is not %s", millrace.QuoteData([]byte(text)), what)
}
