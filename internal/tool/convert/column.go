package convert

import (
	"slices"

	"millrace"
	"millrace/loaders/spec"
)

// Column is a column of the inputs, and the feature that it becomes.
type Column struct {
	Name     string
	Stored   spec.Kind // "": no value has been seen
	DType    string
	Shape    []int64 // shape of a row; a first dimension of -1: any number
	Optional bool    // some rows have no value
}

// scalar returns a column of single values.
func scalar(name string, stored spec.Kind, dtype string) Column {
	return Column{Name: name, Stored: stored, DType: dtype, Shape: []int64{}}
}

// settle completes a column for a manifest after all rows are known. Rows without a
// value, and empty lists, need a shape that allows no values.
func (c *Column) settle() {
	if c.Stored == "" {
		c.Stored, c.DType = spec.String, "string"
	}
	switch {
	case slices.Contains(c.Shape, 0):
		c.Shape = []int64{-1}
	case c.Optional:
		c.Shape = append([]int64{-1}, c.Shape[min(len(c.Shape), 1):]...)
	}
}

// feature returns the manifest's entry for a column.
func (c *Column) feature() spec.FeatureConfig {
	f := spec.FeatureConfig{Name: c.Name, DType: c.DType, Shape: c.Shape, DeserializeType: c.Stored}
	if c.Optional {
		f.Default = []int64{}
	}
	return f
}

// manifestOf returns the manifest of the columns.
func manifestOf(columns []Column) *spec.ManifestConfig {
	m := &spec.ManifestConfig{}
	for i := range columns {
		m.Features = append(m.Features, columns[i].feature())
	}
	return m
}

// columnsOf returns the columns that a manifest describes.
func columnsOf(path string, m *spec.ManifestConfig) ([]Column, error) {
	fail := func(key, format string, args ...any) error {
		e := millrace.Errorf(millrace.ErrConfig, format, args...)
		e.File, e.Key = path, key
		return e
	}
	if m.AllowVarLen {
		return nil, fail("allow_var_len", "convert writes Examples, so it must be false; a feature whose shape begins with -1 holds any number of values")
	}
	var columns []Column
	for _, f := range m.Features {
		if f.DeserializeType == spec.Raw {
			return nil, fail("features", "feature %q is stored raw; convert writes int, float and string", f.Name)
		}
		columns = append(columns, Column{Name: f.Name, Stored: f.DeserializeType, DType: f.DType, Shape: f.Shape, Optional: f.Default != nil})
	}
	return columns, nil
}

// merge joins the properties of a column in two parts of the data. It returns false if
// they contradict each other. In a textual format every value can be a text.
func merge(a, b Column, textual bool) (Column, bool) {
	out := a
	out.Optional = a.Optional || b.Optional
	switch {
	case a.Stored == b.Stored && a.DType == b.DType, b.Stored == "":
	case a.Stored == "":
		out.Stored, out.DType = b.Stored, b.DType
	case number(a) && number(b) && a.DType != "bool" && b.DType != "bool":
		out.Stored, out.DType = wider(a, b)
	case textual:
		out.Stored, out.DType = spec.String, "string"
	default:
		return a, false
	}
	if b.Stored == "" && len(b.Shape) == 0 { // no value at all
		return out, true
	}
	if a.Stored == "" && len(a.Shape) == 0 {
		out.Shape = b.Shape
		return out, true
	}
	var ok bool
	out.Shape, ok = mergeShapes(a.Shape, b.Shape)
	return out, ok
}

func number(c Column) bool { return c.Stored == spec.Int || c.Stored == spec.Float }

// wider returns a type for the numbers of two types.
func wider(a, b Column) (spec.Kind, string) {
	if a.Stored == spec.Float || b.Stored == spec.Float {
		return spec.Float, "float32"
	}
	return spec.Int, "int64"
}

// mergeShapes returns a shape that covers two shapes. Only the first dimension may
// differ.
func mergeShapes(a, b []int64) ([]int64, bool) {
	if slices.Equal(a, b) {
		return a, true
	}
	if len(a) == 0 || len(b) == 0 {
		return a, false
	}
	if a[0] == 0 && len(a) == 1 { // the element type of an empty list is unknown
		return append([]int64{-1}, b[1:]...), true
	}
	if b[0] == 0 && len(b) == 1 {
		return append([]int64{-1}, a[1:]...), true
	}
	if len(a) != len(b) || !slices.Equal(a[1:], b[1:]) {
		return a, false
	}
	return append([]int64{-1}, a[1:]...), true
}
