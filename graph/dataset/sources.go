package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
	"millrace/tfrecord"
)

// TFRecordsOptions are the options of [TFRecords].
type TFRecordsOptions struct {
	Compression string // "" none, "GZIP" or "ZLIB"
	BufferBytes int64  // bytes per read; default 256 KiB
	Unbuffered  bool   // read only the requested bytes; BufferBytes is ignored
	TensorFlow  bool   // use TFRecordDataset even where our own operation is loaded
}

// maxOwnBuffer is the largest read of our own operation. The operation raises small
// sizes to a minimum itself.
const maxOwnBuffer = 1 << 30

// defaultBuffer is how many bytes are read at a time, as in Python.
const defaultBuffer = 256 << 10

// RecordsOp is the name of our own operation that reads records, of package
// native.
const RecordsOp = "MillraceRecordsDataset"

// TFRecords returns the records of files, each a string. The filenames are a
// scalar or a vector of strings; files are read one after the other.
//
// Where the library of our own operations is loaded (package native), its operation
// reads the records: damage in a file is always an error that names its location, and
// Unbuffered has no effect. Without the library, TFRecords wraps TFRecordDataset, which
// has no such protection: a damaged header can end the process, and a file that ends in
// a header looks complete. Check files with package tfrecord first, and compare the
// number of records with [Dataset.AssertCardinality]. docs/dataset.md lists which
// checks each of them makes. [Dataset.All] finds the location of a damaged record if
// the filenames are constants.
func TFRecords(s *graph.Scope, filenames tfbridge.Output, o *TFRecordsOptions) *Dataset {
	if o == nil {
		o = &TFRecordsOptions{}
	}
	compression(s, "TFRecordDataset", o.Compression)
	buffer := readBuffer(s, "TFRecordDataset", o.BufferBytes)
	if o.Unbuffered {
		buffer = s.Const(int64(0)) // TensorFlow's value for unbuffered
	}
	specs := []graph.Spec{{DType: tfbridge.String, Shape: tfbridge.ScalarShape()}}
	if r, err := tfbridge.Open(nil); err == nil && r.HasOperations() && !o.TensorFlow {
		return made(s, specs, s.Op1(RecordsOp, attrs{"compression": o.Compression},
			filenames, s.Const([]int64{}), s.Const(int64(0)), s.Const(min(cmp.Or(o.BufferBytes, defaultBuffer), maxOwnBuffer))))
	}
	return made(s, specs, s.Op1("TFRecordDataset", nil, filenames, s.Const(o.Compression), buffer))
}

// nameRecord returns the error of an iteration with the location of the record that
// ended it. TensorFlow says that a record is damaged, and not in which file. So we read
// the files of each TFRecordDataset again if their names are constants, and report the
// first damage. Our own operation reports the location itself.
func nameRecord(g *tfbridge.Graph, err error) error {
	var known *millrace.Error
	if !errors.Is(err, tfbridge.DataLoss) || errors.As(err, &known) && known.File != "" {
		return err
	}
	for _, op := range g.Operations() {
		if op.Type() != "TFRecordDataset" {
			continue
		}
		in := op.Inputs()
		compression := tfrecord.Compression(strings.ToLower(strings.Join(constants(in[1]), "")))
		for _, name := range constants(in[0]) {
			for _, damage := range tfrecord.Records(name, &tfrecord.ReaderOptions{Compression: compression}) {
				var e *millrace.Error
				if errors.As(damage, &e) && e.Record >= 0 {
					return &millrace.Error{
						Class: e.Class, Op: e.Op, File: e.File, Record: e.Record, Offset: e.Offset,
						Code: int(tfbridge.DataLoss), Msg: cmp.Or(e.Msg, fmt.Sprint(e.Err)), Err: err,
					}
				}
			}
		}
	}
	return err
}

// constants returns the strings of a constant, nil for other outputs.
func constants(o tfbridge.Output) []string {
	if o.Op.Type() != "Const" {
		return nil
	}
	value, err := o.Op.Attr("value")
	if err != nil {
		return nil
	}
	t, ok := value.(*tfbridge.Tensor)
	if !ok {
		return nil
	}
	defer t.Close()
	text, err := t.Strings()
	if err != nil {
		return nil
	}
	return text
}

// compression refuses a name that TensorFlow would take for no compression.
func compression(s *graph.Scope, what, name string) {
	switch name {
	case "", "GZIP", "ZLIB":
	default:
		s.UpdateErr(what, millrace.Errorf(millrace.ErrModel, "unknown compression %q: must be \"\", \"GZIP\" or \"ZLIB\"", name))
	}
}

// readBuffer returns how many bytes to read at a time.
func readBuffer(s *graph.Scope, what string, n int64) tfbridge.Output {
	limit.Between(0, limit.ReadBuffer).Check(s, what+": buffer", n)
	if n == 0 {
		n = defaultBuffer
	}
	return s.Const(n)
}

// FromTensors returns a dataset of one element.
func FromTensors(s *graph.Scope, components ...tfbridge.Output) *Dataset {
	if !someComponents(s, "FromTensors", components) {
		return &Dataset{scope: s}
	}
	specs := graph.SpecsOf(components)
	return made(s, specs, s.Op1("TensorDataset",
		map[string]any{"output_shapes": graph.Shapes(specs)}, tfbridge.OutputList(components)))
}

// FromSlices returns a dataset of the slices of components along their first
// dimension, which must be of one size.
func FromSlices(s *graph.Scope, components ...tfbridge.Output) *Dataset {
	if !someComponents(s, "FromSlices", components) {
		return &Dataset{scope: s}
	}
	specs, err := slicesOf(graph.SpecsOf(components))
	if err != nil {
		s.UpdateErr("TensorSliceDataset", err)
	}
	return made(s, specs, s.Op1("TensorSliceDataset",
		map[string]any{"output_shapes": graph.Shapes(specs)}, tfbridge.OutputList(components)))
}

// someComponents returns an error for an element without components.
func someComponents(s *graph.Scope, what string, components []tfbridge.Output) bool {
	if len(components) == 0 {
		s.UpdateErr(what, millrace.Errorf(millrace.ErrModel, "there are no components"))
	}
	return s.Err() == nil
}

// slicesOf returns the specs without their first dimension.
func slicesOf(specs []graph.Spec) ([]graph.Spec, error) {
	slices := make([]graph.Spec, len(specs))
	for i, p := range specs {
		slices[i].DType = p.DType
		dims, err := p.Shape.ToSlice()
		switch {
		case err != nil: // an unknown shape stays unknown
		case len(dims) == 0:
			return nil, millrace.Errorf(millrace.ErrModel, "component %d is a scalar and has no slices", i)
		default:
			slices[i].Shape = tfbridge.MakeShape(dims[1:]...)
		}
	}
	return slices, nil
}

// Range returns the int64 numbers from start up to but excluding stop.
func Range(s *graph.Scope, start, stop, step int64) *Dataset {
	if step == 0 {
		s.UpdateErr("RangeDataset", millrace.Errorf(millrace.ErrModel, "step is 0"))
	}
	specs := []graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}
	return add(s, "RangeDataset", specs, nil, s.Const(start), s.Const(stop), s.Const(step))
}

// RangeOutput returns the int64 numbers from start up to but excluding stop. Both are
// int64 scalars of the graph.
func RangeOutput(s *graph.Scope, start, stop tfbridge.Output) *Dataset {
	specs := []graph.Spec{{DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}}
	return add(s, "RangeDataset", specs, nil, start, stop, s.Const(int64(1)))
}
