package dataset

import (
	"math"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// NativePart says what a component of a batch of SequenceExamples has of a
// feature.
type NativePart string

// The parts. Values and Elements are of any feature, the others of feature
// lists.
const (
	NativeValues   NativePart = "values"   // of the context one row a record; of a list the elements of all records, joined
	NativeSplits   NativePart = "splits"   // int64: how many elements come before each record, and in all
	NativePadded   NativePart = "padded"   // one row a record, padded
	NativeLengths  NativePart = "lengths"  // int64: the number of elements of each record
	NativeMask     NativePart = "mask"     // bool: true for elements, padded with false
	NativeElements NativePart = "elements" // int64: the number of values of each record, in all its elements
)

// NativeComponent is a component of a batch of SequenceExamples.
type NativeComponent struct {
	Feature int // in [NativeSequence]
	Part    NativePart
	Size    int64           // of NativePadded and NativeMask: elements to pad to, more are an error; -1: the longest of the batch
	Fill    tfbridge.Output // of NativePadded: what to pad with, a scalar of the feature's type
}

// NativeSequence says what to make of SequenceExamples. Several components may
// be of one feature.
type NativeSequence struct {
	Features   []NativeFeature
	Components []NativeComponent
}

// NativeSequences is [NativeExamples] for SequenceExamples: it is TFRecords,
// Repeat, Batch and a Map of [graph.ParseSequenceExampleV2] in one, with the
// padding of lists. What that refuses is an error here.
func NativeSequences(s *graph.Scope, filenames, counts tfbridge.Output, q *NativeSequence, o *NativeExamplesOptions) *Dataset {
	const op = opSequenceBatch
	static, inputs := o.inputs(s, op)
	inputs = append([]tfbridge.Input{filenames, counts}, inputs...)
	return q.add(s, op, static, inputs...)
}

// NativeParseSequences is [Dataset.NativeParse] for SequenceExamples.
func (d *Dataset) NativeParseSequences(n int64, q *NativeSequence, drop bool) *Dataset {
	d = d.orNone()
	const op = opParseSequenceBatch
	inRange(d.scope, op+": batch size", n, 1, math.MaxInt64)
	static := int64(-1)
	if drop {
		static = n
	}
	return q.add(d.scope, op, static, d.variant, d.scope.Const(n), d.scope.Const(drop))
}

// add adds a dataset operation that decodes SequenceExamples to batches.
func (q *NativeSequence) add(s *graph.Scope, op string, batch int64, inputs ...tfbridge.Input) *Dataset {
	if q == nil {
		s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "there is no NativeSequence"))
		return &Dataset{scope: s}
	}
	all := nativeAttrs(s, op, q.Features)
	var records []graph.Spec
	var lists []bool
	for i := range q.Features {
		records, lists = append(records, q.Features[i].spec(-1)), append(lists, q.Features[i].List)
	}
	var specs []graph.Spec
	var parts []string
	var of, sizes []int64
	fills := tfbridge.OutputList{}
	for i := range q.Components {
		c := &q.Components[i]
		if c.Feature < 0 || c.Feature >= len(q.Features) {
			s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "component %d is of feature %d, there are %d", i, c.Feature, len(q.Features)))
			return &Dataset{scope: s}
		}
		inRange(s, op+": padded size", c.Size, -1, maxPaddedDim)
		specs, parts = append(specs, c.spec(&q.Features[c.Feature], batch)), append(parts, string(c.Part))
		of, sizes = append(of, int64(c.Feature)), append(sizes, c.Size)
		if c.Part == NativePadded {
			fills = append(fills, c.Fill)
		}
	}
	all["lists"], all["record_types"], all["record_shapes"] = lists, graph.DTypes(records), graph.Shapes(records)
	all["parts"], all["of"], all["sizes"] = parts, of, sizes
	return add(s, op, specs, all, append(inputs, fills)...)
}

// spec returns the type and shape of a component in batches of n.
func (c *NativeComponent) spec(f *NativeFeature, n int64) graph.Spec {
	record := f.spec(n)
	switch c.Part {
	case NativeSplits:
		if n >= 0 {
			n++
		}
		return graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(n)}
	case NativeLengths, NativeElements:
		return graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(n)}
	case NativeMask:
		return graph.Spec{DType: tfbridge.Bool, Shape: tfbridge.MakeShape(n, c.Size)}
	case NativePadded:
		return graph.Spec{DType: record.DType, Shape: tfbridge.MakeShape(append([]int64{n, c.Size}, f.Shape...)...)}
	}
	if f.List {
		return f.spec(-1)
	}
	return record
}
