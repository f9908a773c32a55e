package output

import (
	"slices"
	"unicode/utf8"

	"millrace"
	"millrace/dtype"
)

// Column is one tensor of a batch; its first dimension counts the rows.
type Column struct {
	Name    string
	DType   dtype.DataType
	Shape   []int64  // includes the batch dimension
	Data    []byte   // the elements, row-major, little endian; nil for strings
	Strings []string // the elements of a string tensor, row-major
	Text    bool     // the strings are text in JSON, which must be UTF-8, instead of base64
}

// elements returns the number of elements of a shape. [Column.valid] must have
// checked the shape.
func elements(shape []int64) int64 {
	n, _ := dtype.Elements(shape)
	return n
}

// rows returns the size of the batch dimension.
func (c *Column) rows() int64 { return c.Shape[0] }

// rowElements returns the number of elements in each row.
func (c *Column) rowElements() int { return int(elements(c.Shape[1:])) }

// row returns the raw bytes of one row of a numeric column.
func (c *Column) row(i int) []byte {
	n := c.rowElements() * c.DType.Size()
	return c.Data[i*n : (i+1)*n]
}

// rowStrings returns the strings of one row of a string column.
func (c *Column) rowStrings(i int) []string {
	n := c.rowElements()
	return c.Strings[i*n : (i+1)*n]
}

// writable reports whether formats can store elements of a data type.
func writable(d dtype.DataType) bool {
	switch d {
	case dtype.Bool, dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64,
		dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64,
		dtype.Half, dtype.Bfloat16, dtype.Float, dtype.Double,
		dtype.Complex64, dtype.Complex128, dtype.String:
		return true
	}
	return false
}

// valid reports whether the column's data fits its shape.
func (c *Column) valid() error {
	if !writable(c.DType) {
		return c.fail(millrace.ErrModel, "tensors of dtype %v cannot be written", c.DType)
	}
	want, bytes, err := dtype.ByteSize(c.DType, c.Shape)
	if err != nil {
		return c.fail(millrace.ErrInternal, "%w", err)
	}
	have := int64(len(c.Strings))
	if c.DType != dtype.String {
		have, want = int64(len(c.Data)), bytes
	}
	if have != want {
		return c.fail(millrace.ErrInternal, "shape %d needs %d elements, but the data holds %d", c.Shape, want, have)
	}
	if i := slices.IndexFunc(c.Strings, func(s string) bool { return c.Text && !utf8.ValidString(s) }); i >= 0 {
		return c.fail(millrace.ErrSchema, "string %d of the batch is not UTF-8: %s; leave out --text to get base64", i, millrace.QuoteData([]byte(c.Strings[i])))
	}
	return nil
}

// fail returns an error about the column.
func (c *Column) fail(class millrace.Class, format string, args ...any) error {
	err := millrace.Errorf(class, format, args...)
	err.Tensor = c.Name
	return err
}

// batchRows checks the columns of a batch and returns its number of rows.
func batchRows(batch []Column) (int64, error) {
	rows, seen := int64(-1), map[string]bool{}
	for i := range batch {
		c := &batch[i]
		if seen[c.Name] {
			return 0, c.fail(millrace.ErrConfig, "two tensors of the output have the same name")
		}
		seen[c.Name] = true
		if err := c.valid(); err != nil {
			return 0, err
		}
		if len(c.Shape) == 0 {
			return 0, c.fail(millrace.ErrModel, "is one scalar for the whole batch; the output needs a value for each record")
		}
		if rows >= 0 && rows != c.rows() {
			return 0, c.fail(millrace.ErrModel, "has %d rows, but %q has %d; all tensors must have a row for each record", c.rows(), batch[0].Name, rows)
		}
		rows = c.rows()
	}
	return max(rows, 0), nil
}
