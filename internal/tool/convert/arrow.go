package convert

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfrecord/example"
)

// batches reads a file that holds Arrow record batches. The caller keeps a batch by
// retaining it: the memory is Go's, so nobody has to release it.
type batches interface {
	// next returns the next batch, and io.EOF after the last one.
	next() (arrow.RecordBatch, error)
	schema() *arrow.Schema
	Close() error
}

// primitive are the types with single values, and their columns.
var primitive = map[arrow.Type]Column{
	arrow.BOOL: scalar("", spec.Int, "bool"),
	arrow.INT8: scalar("", spec.Int, "int8"), arrow.INT16: scalar("", spec.Int, "int16"),
	arrow.INT32: scalar("", spec.Int, "int32"), arrow.INT64: scalar("", spec.Int, "int64"),
	arrow.UINT8: scalar("", spec.Int, "uint8"), arrow.UINT16: scalar("", spec.Int, "uint16"),
	arrow.UINT32: scalar("", spec.Int, "uint32"), arrow.UINT64: scalar("", spec.Int, "uint64"),
	arrow.FLOAT16: scalar("", spec.Float, "float32"), arrow.FLOAT32: scalar("", spec.Float, "float32"), arrow.FLOAT64: scalar("", spec.Float, "float32"),
	arrow.STRING: scalar("", spec.String, "string"), arrow.LARGE_STRING: scalar("", spec.String, "string"),
	arrow.BINARY: scalar("", spec.String, "string"), arrow.LARGE_BINARY: scalar("", spec.String, "string"),
	arrow.FIXED_SIZE_BINARY: scalar("", spec.String, "string"),
	arrow.DATE32:            scalar("", spec.Int, "int64"), arrow.DATE64: scalar("", spec.Int, "int64"), arrow.TIMESTAMP: scalar("", spec.Int, "int64"),
	arrow.NULL: {Shape: []int64{}},
}

// columnOfArrow returns the column that a field becomes. The shape of lists follows
// from the data; here it is the shape without rows.
func columnOfArrow(f arrow.Field) (Column, error) {
	c, err := columnOfType(f.Type)
	c.Name = f.Name
	return c, err
}

func columnOfType(t arrow.DataType) (Column, error) {
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	if c, ok := primitive[t.ID()]; ok {
		return c, nil
	}
	if list, ok := t.(arrow.ListLikeType); ok && t.ID() != arrow.MAP {
		return columnOfType(list.Elem())
	}
	return Column{}, fmt.Errorf("the type %v has no place in a record; cast it, or make its fields columns of their own", t)
}

// columnsOfSchema returns the columns that the fields become.
func columnsOfSchema(path string, schema *arrow.Schema) (columns []Column, err error) {
	known := make(map[string]bool)
	for _, f := range schema.Fields() {
		c, err := columnOfArrow(f)
		if err != nil {
			return nil, dataError(path, "column %s: %w", millrace.QuoteData([]byte(f.Name)), err)
		}
		if known[c.Name] {
			return nil, dataError(path, "two columns are called %s", millrace.QuoteData([]byte(c.Name)))
		}
		columns, known[c.Name] = append(columns, c), true
	}
	return columns, nil
}

// counted are batches of a file with metadata: the number of rows, and the number of
// missing values in each column.
type counted interface {
	batches

	// counts returns false if the file lacks the counts of some column.
	counts() (rows int64, nulls []int64, ok bool)
}

// surveyBatches finds the shapes of lists and missing values. It reads all batches,
// unless the file's metadata suffices.
func surveyBatches(ctx context.Context, path string, in batches) (*survey, error) {
	columns, err := columnsOfSchema(path, in.schema())
	if err != nil {
		return nil, err
	}
	s, flat := &survey{columns: columns}, true
	for _, f := range in.schema().Fields() {
		if _, list := f.Type.(arrow.ListLikeType); list || f.Type.ID() == arrow.NULL {
			flat = false
		}
		if t := f.Type.ID(); t == arrow.DATE32 || t == arrow.DATE64 || t == arrow.TIMESTAMP {
			s.notes = append(s.notes, fmt.Sprintf("column %s: %v is stored as the int64 that it is made of", millrace.QuoteData([]byte(f.Name)), f.Type))
		}
	}
	if in, ok := in.(counted); ok && flat {
		if rows, nulls, ok := in.counts(); ok && len(nulls) == len(s.columns) {
			s.rows = rows
			for i := range nulls {
				s.columns[i].Optional = nulls[i] > 0
			}
			return s, nil
		}
	}
	known := make([]bool, len(s.columns)) // the shape is known
	for {
		batch, err := in.next()
		if done, err := ended(ctx, err); done {
			return s, err
		}
		for i := range s.columns {
			if err := s.columns[i].addArray(batch.Column(i), &known[i]); err != nil {
				return nil, dataError(path, "column %s: %w", millrace.QuoteData([]byte(s.columns[i].Name)), err)
			}
		}
		s.rows += batch.NumRows()
		batch.Release()
	}
}

// addArray merges the shapes of an array's rows.
func (c *Column) addArray(a arrow.Array, known *bool) error {
	c.Optional = c.Optional || a.NullN() > 0 || a.DataType().ID() == arrow.NULL && a.Len() > 0
	if _, ok := a.DataType().(arrow.ListLikeType); !ok {
		return nil
	}
	for row := range a.Len() {
		if a.IsNull(row) {
			continue
		}
		shape, err := shapeOf(a, row)
		if err != nil {
			return err
		}
		if !*known {
			c.Shape, *known = shape, true
		}
		if slices.Equal(c.Shape, shape) {
			continue
		}
		whole, ok := mergeShapes(c.Shape, shape)
		if !ok {
			return fmt.Errorf("lists of shape %v after lists of shape %v; a feature has one shape, whose first dimension alone may vary", shape, c.Shape)
		}
		c.Shape = whole
	}
	return nil
}

// shapeOf returns the shape of a row of lists.
func shapeOf(a arrow.Array, row int) ([]int64, error) {
	list, ok := a.(array.ListLike)
	if !ok {
		return []int64{}, nil
	}
	start, end := list.ValueOffsets(row)
	if err := new(values).room(end-start, example.Int64); err != nil {
		return nil, err
	}
	shape := []int64{end - start}
	if _, nested := list.ListValues().(array.ListLike); !nested {
		return shape, nil
	}
	var inner []int64
	for i := start; i < end; i++ {
		one, err := shapeOf(list.ListValues(), int(i))
		if err != nil {
			return nil, err
		}
		if i > start && !slices.Equal(inner, one) {
			return nil, fmt.Errorf("the lists in a list have different shapes, %v and %v; a feature has one shape, whose first dimension alone may vary", inner, one)
		}
		inner = one
	}
	return append(shape, inner...), nil
}

// arrowSource reads batches as blocks.
type arrowSource struct {
	batches
	columns []Column
	at      []int
	row     int64
}

func newArrowSource(in batches, columns []Column) *arrowSource {
	s := &arrowSource{batches: in, columns: columns}
	for _, c := range columns {
		at := -1
		if found := in.schema().FieldIndices(c.Name); len(found) > 0 {
			at = found[0]
		}
		s.at = append(s.at, at)
	}
	return s
}

func (s *arrowSource) next() (block, error) {
	batch, err := s.batches.next()
	if err != nil {
		return nil, err
	}
	b := &arrowBlock{batch, s.columns, make([]arrayReader, len(s.at)), s.row + 1}
	for i, at := range s.at {
		if at >= 0 {
			b.readers[i] = readerOf(batch.Column(at), &s.columns[i])
		}
	}
	s.row += batch.NumRows()
	return b, nil
}

// arrowBlock is a batch.
type arrowBlock struct {
	batch   arrow.RecordBatch
	columns []Column
	readers []arrayReader // nil: the file lacks the column
	first   int64
}

func (b *arrowBlock) rows() int       { return int(b.batch.NumRows()) }
func (b *arrowBlock) row(i int) int64 { return b.first + int64(i) }
func (b *arrowBlock) size() int64     { return bytesOf(b.batch) }

// free releases the memory.
func (b *arrowBlock) free() { b.batch.Release() }

func (b *arrowBlock) read(v *values, column, row int) error {
	read := b.readers[column]
	if read == nil {
		v.missing = true
		return nil
	}
	return read(v, row)
}

// arrayReader adds the values of a row of an array.
type arrayReader func(v *values, row int) error

// readerOf returns the reader of an array. Common types without missing values have a
// reader that needs no checks for each row.
func readerOf(a arrow.Array, c *Column) arrayReader {
	kind := kindOf(c.Stored)
	switch whole := a.NullN() == 0; {
	case whole && kind == example.Int64:
		if a, ok := a.(*array.Int64); ok {
			return func(v *values, row int) error { v.ints = append(v.ints, a.Value(row)); return nil }
		}
	case whole && kind == example.Float:
		switch a := a.(type) {
		case *array.Float64:
			return func(v *values, row int) error { return v.float(a.Value(row)) }
		case *array.Float32:
			return func(v *values, row int) error { v.floats = append(v.floats, a.Value(row)); return nil }
		}
	case whole:
		if a, ok := a.(*array.String); ok {
			return func(v *values, row int) error { v.texts = append(v.texts, textBytes(a.Value(row))); return nil }
		}
	}
	return func(v *values, row int) error {
		if a.IsNull(row) {
			v.missing = true
			return nil
		}
		return v.arrow(a, row, c)
	}
}

// textBytes returns the bytes of a text, which must not be changed.
func textBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// arrow adds the values of a row.
func (v *values) arrow(a arrow.Array, row int, c *Column) error {
	if a.IsNull(row) {
		return errors.New("null in a list; a list of numbers has no place without a value")
	}
	switch a := a.(type) {
	case *array.Float32:
		return v.real(float64(a.Value(row)), c)
	case *array.Float64:
		return v.real(a.Value(row), c)
	case *array.Float16:
		return v.real(float64(a.Value(row).Float32()), c)
	case *array.Dictionary:
		return v.arrow(a.Dictionary(), a.GetValueIndex(row), c)
	case array.ListLike:
		start, end := a.ValueOffsets(row)
		if err := v.room(end-start, kindOf(c.Stored)); err != nil {
			return err
		}
		for i := start; i < end; i++ {
			if err := v.arrow(a.ListValues(), int(i), c); err != nil {
				return err
			}
		}
		return nil
	case *array.Uint64:
		x := a.Value(row)
		if x > math.MaxInt64 && (c.Stored != spec.Int || c.DType != "uint64") {
			return fmt.Errorf("%d does not fit %s", x, c.DType)
		}
		return v.integer(int64(x), c)
	}
	if x, ok := integerOf(a, row); ok {
		return v.integer(x, c)
	}
	return v.bytes(a, row, c)
}

// integerOf returns an integer of an array of integers.
func integerOf(a arrow.Array, row int) (int64, bool) {
	switch a := a.(type) {
	case *array.Int64:
		return a.Value(row), true
	case *array.Int32:
		return int64(a.Value(row)), true
	case *array.Int16:
		return int64(a.Value(row)), true
	case *array.Int8:
		return int64(a.Value(row)), true
	case *array.Uint32:
		return int64(a.Value(row)), true
	case *array.Uint16:
		return int64(a.Value(row)), true
	case *array.Uint8:
		return int64(a.Value(row)), true
	case *array.Boolean:
		if a.Value(row) {
			return 1, true
		}
		return 0, true
	case *array.Date32:
		return int64(a.Value(row)), true
	case *array.Date64:
		return int64(a.Value(row)), true
	case *array.Timestamp:
		return int64(a.Value(row)), true
	}
	return 0, false
}

// bytes adds a byte string of an array of texts.
func (v *values) bytes(a arrow.Array, row int, c *Column) error {
	if c.Stored != spec.String {
		return fmt.Errorf("%s does not fit %s", millrace.QuoteData([]byte(a.ValueStr(row))), c.DType)
	}
	switch a := a.(type) {
	case *array.String:
		v.texts = append(v.texts, textBytes(a.Value(row)))
	case *array.LargeString:
		v.texts = append(v.texts, textBytes(a.Value(row)))
	case *array.Binary:
		v.texts = append(v.texts, a.Value(row))
	case *array.LargeBinary:
		v.texts = append(v.texts, a.Value(row))
	case *array.FixedSizeBinary:
		v.texts = append(v.texts, a.Value(row))
	default:
		return fmt.Errorf("the type %v has no place in a record", a.DataType())
	}
	return nil
}

// real adds a number to a column of numbers.
func (v *values) real(x float64, c *Column) error {
	switch c.Stored {
	case spec.Float:
		return v.float(x)
	case spec.Int:
		if x == math.Trunc(x) && math.Abs(x) < 1<<63 {
			v.ints = append(v.ints, int64(x))
			return nil
		}
	}
	return fmt.Errorf("the number %v does not fit %s", x, c.DType)
}
