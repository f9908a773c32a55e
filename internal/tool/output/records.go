package output

import (
	"encoding/binary"
	"math"

	"millrace/dtype"
	"millrace/tfrecord"
	"millrace/tfrecord/example"
)

// records writes a TFRecord file with one tf.train.Example per row and a feature for
// each column, flat in row-major order. An Example has three kinds of list: integers
// and booleans become int64s, floating-point numbers floats, strings bytes. A float64
// is rounded. A uint64 from 2^63 on keeps its bits, and so reads as a negative int64. A
// complex number becomes two floats.
type records struct {
	w   *sink
	out *tfrecord.Writer
}

func newRecords(w *sink) encoder {
	return &records{w: w, out: tfrecord.NewWriter(w, tfrecord.None)}
}

func (r *records) start(cols []dtype.TensorSpec) error {
	for _, c := range cols {
		if c.DType == dtype.Double || c.DType == dtype.Complex128 {
			r.w.say("tensor %q is %s: a tf.Example only has 32-bit floats, so the values are rounded", c.Name, c.DType)
		}
	}
	return nil
}

func (r *records) write(batch []Column, rows int) error {
	features := make([]example.Named, len(batch))
	for row := range rows {
		for i := range batch {
			c := &batch[i]
			features[i] = example.Named{Name: c.Name, Feature: c.feature(row, features[i].Feature)}
		}
		if err := r.out.Write(example.Marshal(features)); err != nil {
			return r.fail(err)
		}
	}
	return nil
}

func (r *records) finish() error { return r.fail(r.out.Close()) }

func (r *records) discard() {}

// fail returns the sink's description of a failure if there is one, because that has
// the location.
func (r *records) fail(err error) error {
	if err != nil && r.w.err != nil {
		return r.w.err
	}
	return err
}

// feature returns a row as a list of values. It reuses the memory of an earlier
// feature.
func (c *Column) feature(row int, reuse example.Feature) example.Feature {
	switch c.DType {
	case dtype.String:
		f := example.Feature{Kind: example.Bytes, Bytes: reuse.Bytes[:0]}
		for _, s := range c.rowStrings(row) {
			f.Bytes = append(f.Bytes, []byte(s))
		}
		return f
	case dtype.Half, dtype.Bfloat16, dtype.Float, dtype.Double, dtype.Complex64, dtype.Complex128:
		return example.Feature{Kind: example.Float, Floats: appendFloats(reuse.Floats[:0], c.row(row), c.DType)}
	}
	f := example.Feature{Kind: example.Int64, Ints: reuse.Ints[:0]}
	data, size := c.row(row), c.DType.Size()
	for at := 0; at < len(data); at += size {
		f.Ints = append(f.Ints, integer(data[at:], c.DType))
	}
	return f
}

// appendFloats appends floating-point elements as float32.
func appendFloats(values []float32, data []byte, d dtype.DataType) []float32 {
	le := binary.LittleEndian
	switch d {
	case dtype.Complex64:
		d = dtype.Float
	case dtype.Complex128:
		d = dtype.Double
	}
	for at := 0; at < len(data); at += d.Size() {
		var v float32
		switch d {
		case dtype.Half:
			v = half(le.Uint16(data[at:]))
		case dtype.Bfloat16:
			v = bfloat(le.Uint16(data[at:]))
		case dtype.Float:
			v = math.Float32frombits(le.Uint32(data[at:]))
		default:
			v = float32(math.Float64frombits(le.Uint64(data[at:])))
		}
		values = append(values, v)
	}
	return values
}

// integer returns the first integer or boolean in data.
func integer(data []byte, d dtype.DataType) int64 {
	le := binary.LittleEndian
	switch d {
	case dtype.Bool, dtype.Uint8:
		return int64(data[0])
	case dtype.Int8:
		return int64(int8(data[0]))
	case dtype.Int16:
		return int64(int16(le.Uint16(data)))
	case dtype.Uint16:
		return int64(le.Uint16(data))
	case dtype.Int32:
		return int64(int32(le.Uint32(data)))
	case dtype.Uint32:
		return int64(le.Uint32(data))
	}
	return int64(le.Uint64(data))
}
