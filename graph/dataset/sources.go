package dataset

import (
	"fmt"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// TFRecordsOptions are the options of [TFRecords].
type TFRecordsOptions struct {
	Compression string // "" none, "GZIP" or "ZLIB"
	BufferBytes int64  // to read at a time; default 256 KiB
	Unbuffered  bool   // read no more than is asked for; BufferBytes is ignored
}

// defaultBuffer is how many bytes are read at a time, as in Python.
const defaultBuffer = 256 << 10

// TFRecords returns the records of files, each a string. The filenames are a
// scalar or a vector of strings; files are read one after the other.
//
// TensorFlow ends the process for some damaged files and takes some cut ones
// for whole: check files with package tfrecord first, and count the records
// with [Dataset.AssertCardinality].
func TFRecords(s *graph.Scope, filenames tfbridge.Output, o *TFRecordsOptions) *Dataset {
	if o == nil {
		o = &TFRecordsOptions{}
	}
	switch o.Compression {
	case "", "GZIP", "ZLIB": // TensorFlow takes any other text for none
	default:
		s.UpdateErr("TFRecordDataset", millrace.Errorf(millrace.ErrModel,
			"unknown compression %q: must be \"\", \"GZIP\" or \"ZLIB\"", o.Compression))
	}
	inRange(s, "TFRecordDataset: buffer", o.BufferBytes, 0, maxReadBuffer)
	buffer := o.BufferBytes
	switch {
	case o.Unbuffered:
		buffer = 0 // TensorFlow's word for it
	case buffer == 0:
		buffer = defaultBuffer
	}
	specs := []graph.Spec{{DType: tfbridge.String, Shape: tfbridge.ScalarShape()}}
	return made(s, specs, s.Op1("TFRecordDataset", nil, filenames, s.Const(o.Compression), s.Const(buffer)))
}

// FromTensors returns a dataset of one element.
func FromTensors(s *graph.Scope, components ...tfbridge.Output) *Dataset {
	specs := graph.SpecsOf(components)
	return made(s, specs, s.Op1("TensorDataset",
		map[string]any{"output_shapes": graph.Shapes(specs)}, tfbridge.OutputList(components)))
}

// FromSlices returns a dataset of the slices of components along their first
// dimension, which must be of one size.
func FromSlices(s *graph.Scope, components ...tfbridge.Output) *Dataset {
	specs, err := slicesOf(graph.SpecsOf(components))
	if err != nil {
		s.UpdateErr("TensorSliceDataset", err)
	}
	return made(s, specs, s.Op1("TensorSliceDataset",
		map[string]any{"output_shapes": graph.Shapes(specs)}, tfbridge.OutputList(components)))
}

// slicesOf returns the specs without their first dimension.
func slicesOf(specs []graph.Spec) ([]graph.Spec, error) {
	slices := make([]graph.Spec, len(specs))
	for i, p := range specs {
		slices[i].DType = p.DType
		dims, err := p.Shape.ToSlice()
		switch {
		case err != nil: // unknown before, unknown after
		case len(dims) == 0:
			return nil, millrace.Errorf(millrace.ErrModel, "component %d is a scalar and has no slices", i)
		default:
			slices[i].Shape = tfbridge.MakeShape(dims[1:]...)
		}
	}
	return slices, nil
}

// Range returns the int64 numbers from start up to but without stop.
func Range(s *graph.Scope, start, stop, step int64) *Dataset {
	if step == 0 {
		s.UpdateErr("RangeDataset", fmt.Errorf("step is 0"))
	}
	specs := []graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}
	return add(s, "RangeDataset", specs, nil, s.Const(start), s.Const(stop), s.Const(step))
}
