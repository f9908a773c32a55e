package output

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"millrace"
	"millrace/dtype"
)

// tableColumn writes the values of one column, and the levels that assign values to
// lists.
type tableColumn struct {
	spec dtype.TensorSpec
	rank int16 // rank of a row; the pair of a complex number adds a dimension

	defs, reps []int16
	ints       []int32
	longs      []int64
	floats     []float32
	doubles    []float64
	bools      []bool
}

// tableNode returns a column's place in the schema. A row is nested lists, as
// deep as its rank. No value is null.
func tableNode(spec dtype.TensorSpec) (schema.Node, error) {
	leaf, err := tableLeaf(spec)
	if err != nil {
		return nil, err
	}
	node := leaf
	depth := spec.Shape.NumDimensions() + len(complexShape(spec.DType))
	for range depth {
		if node, err = schema.ListOfWithName(spec.Name, node, parquet.Repetitions.Required, -1); err != nil {
			return nil, err
		}
	}
	return node, nil
}

// complexShape returns the shape of one element: complex numbers are written
// as [real, imaginary].
func complexShape(d dtype.DataType) []int64 {
	if d == dtype.Complex64 || d == dtype.Complex128 {
		return []int64{2}
	}
	return nil
}

// tableLeaf returns the node of a column's elements. Parquet has no bfloat16;
// float32 holds the same values.
func tableLeaf(spec dtype.TensorSpec) (schema.Node, error) {
	required := parquet.Repetitions.Required
	integer := func(t parquet.Type, bits int8, signed bool) (schema.Node, error) {
		return schema.NewPrimitiveNodeLogical(spec.Name, required, schema.NewIntLogicalType(bits, signed), t, -1, -1)
	}
	switch spec.DType {
	case dtype.Bool:
		return schema.NewBooleanNode(spec.Name, required, -1), nil
	case dtype.Int8, dtype.Int16, dtype.Int32:
		return integer(parquet.Types.Int32, int8(8*spec.DType.Size()), true)
	case dtype.Uint8, dtype.Uint16, dtype.Uint32:
		return integer(parquet.Types.Int32, int8(8*spec.DType.Size()), false)
	case dtype.Int64, dtype.Uint64:
		return integer(parquet.Types.Int64, 64, spec.DType == dtype.Int64)
	case dtype.Bfloat16, dtype.Float, dtype.Complex64:
		return schema.NewFloat32Node(spec.Name, required, -1), nil
	case dtype.Double, dtype.Complex128:
		return schema.NewFloat64Node(spec.Name, required, -1), nil
	case dtype.Half:
		return schema.NewPrimitiveNodeLogical(spec.Name, required, schema.Float16LogicalType{}, parquet.Types.FixedLenByteArray, 2, -1)
	}
	return schema.NewByteArrayNode(spec.Name, required, -1), nil
}

// write adds the rows of one batch.
func (t *tableColumn) write(w file.ColumnChunkWriter, c *Column, rows int) error {
	t.levels(append(c.Shape[1:len(c.Shape):len(c.Shape)], complexShape(c.DType)...), rows)
	var err error
	switch w := w.(type) {
	case *file.BooleanColumnChunkWriter:
		_, err = w.WriteBatch(t.boolValues(c), t.defs, t.reps)
	case *file.Int32ColumnChunkWriter:
		_, err = w.WriteBatch(t.intValues(c), t.defs, t.reps)
	case *file.Int64ColumnChunkWriter:
		_, err = w.WriteBatch(t.longValues(c), t.defs, t.reps)
	case *file.Float32ColumnChunkWriter:
		_, err = w.WriteBatch(t.floatValues(c), t.defs, t.reps)
	case *file.Float64ColumnChunkWriter:
		_, err = w.WriteBatch(t.doubleValues(c), t.defs, t.reps)
	case *file.FixedLenByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(fixedValues(c), t.defs, t.reps)
	case *file.ByteArrayColumnChunkWriter:
		_, err = w.WriteBatch(byteValues(c), t.defs, t.reps)
	default:
		err = c.fail(millrace.ErrInternal, "no Parquet writer for %s", c.DType)
	}
	return err
}

// levels computes the definition and repetition levels of rows of a shape. The
// definition level of a value is the number of lists around the value that
// exist. Its repetition level is the number of those lists that the value
// continues, rather than starts.
func (t *tableColumn) levels(shape []int64, rows int) {
	t.defs, t.reps = t.defs[:0], t.reps[:0]
	if len(shape) == 0 {
		t.defs, t.reps = nil, nil
		return
	}
	for range rows {
		t.row(shape, 0, 0)
	}
}

// row appends the levels of one list at a depth, which starts with the
// repetition level rep.
func (t *tableColumn) row(shape []int64, depth, rep int16) {
	if len(shape) == 0 || shape[0] == 0 { // a value, or an empty list
		t.defs, t.reps = append(t.defs, depth), append(t.reps, rep)
		return
	}
	for range shape[0] {
		t.row(shape[1:], depth+1, rep)
		rep = depth + 1
	}
}

func (t *tableColumn) boolValues(c *Column) []bool {
	t.bools = t.bools[:0]
	for _, v := range c.Data {
		t.bools = append(t.bools, v != 0)
	}
	return t.bools
}

// intValues returns integers of up to 32 bits; unsigned ones keep their bits.
func (t *tableColumn) intValues(c *Column) []int32 {
	t.ints = t.ints[:0]
	for at, size := 0, c.DType.Size(); at < len(c.Data); at += size {
		var v int32
		switch c.DType {
		case dtype.Int8:
			v = int32(int8(c.Data[at]))
		case dtype.Uint8:
			v = int32(c.Data[at])
		case dtype.Int16:
			v = int32(int16(binary.LittleEndian.Uint16(c.Data[at:])))
		case dtype.Uint16:
			v = int32(binary.LittleEndian.Uint16(c.Data[at:]))
		default:
			v = int32(binary.LittleEndian.Uint32(c.Data[at:]))
		}
		t.ints = append(t.ints, v)
	}
	return t.ints
}

func (t *tableColumn) longValues(c *Column) []int64 {
	t.longs = t.longs[:0]
	for at := 0; at < len(c.Data); at += 8 {
		t.longs = append(t.longs, int64(binary.LittleEndian.Uint64(c.Data[at:])))
	}
	return t.longs
}

func (t *tableColumn) floatValues(c *Column) []float32 {
	t.floats = t.floats[:0]
	if c.DType == dtype.Bfloat16 {
		for at := 0; at < len(c.Data); at += 2 {
			t.floats = append(t.floats, bfloat(binary.LittleEndian.Uint16(c.Data[at:])))
		}
		return t.floats
	}
	for at := 0; at < len(c.Data); at += 4 {
		t.floats = append(t.floats, math.Float32frombits(binary.LittleEndian.Uint32(c.Data[at:])))
	}
	return t.floats
}

func (t *tableColumn) doubleValues(c *Column) []float64 {
	t.doubles = t.doubles[:0]
	for at := 0; at < len(c.Data); at += 8 {
		t.doubles = append(t.doubles, math.Float64frombits(binary.LittleEndian.Uint64(c.Data[at:])))
	}
	return t.doubles
}

// fixedValues returns the float16 elements as byte strings, in a copy: the
// statistics of a row group keep some of them.
func fixedValues(c *Column) []parquet.FixedLenByteArray {
	data := append([]byte(nil), c.Data...)
	values := make([]parquet.FixedLenByteArray, 0, len(data)/2)
	for at := 0; at < len(data); at += 2 {
		values = append(values, data[at:at+2])
	}
	return values
}

func byteValues(c *Column) []parquet.ByteArray {
	values := make([]parquet.ByteArray, len(c.Strings))
	for i, s := range c.Strings {
		values[i] = []byte(s)
	}
	return values
}
