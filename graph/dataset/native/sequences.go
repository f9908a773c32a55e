package native

import (
	"maps"
	"math"
	"slices"

	"millrace"
	"millrace/dtype"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/graph/dataset/internal/limit"
	"millrace/tfbridge"
)

// Part is the part of a feature that a component of a batch contains.
type Part string

// The parts. Values and Elements apply to any feature, the others to lists.
const (
	Values   Part = "values"   // a feature of fixed size: one row per record; a list: the elements of all records, joined
	Splits   Part = "splits"   // int64: the number of elements before each record, and the total
	Padded   Part = "padded"   // one row per record, padded
	Lengths  Part = "lengths"  // int64: the number of elements of each record
	Mask     Part = "mask"     // bool: true for elements, padded with false
	Elements Part = "elements" // int64: the total number of values of each record
)

// Component is a component of a batch of records with lists.
type Component struct {
	Feature int // index in [Sequence].Features
	Part    Part
	Size    int64           // for Padded and Mask: elements to pad to, more are an error; -1: the longest of the batch
	Most    int64           // how many elements of a record Padded, Mask, Lengths and Elements use; 0: all
	Fill    tfbridge.Output // for Padded: the padding value, a scalar of the feature's type
}

// Sequence describes the batches to make from records with lists. Several components
// may use one feature.
type Sequence struct {
	// Examples declares that records are Examples. A list is then a feature with any
	// number of elements, each of which takes the number of values of its Shape. Python
	// reads such features with tf.io.FixedLenSequenceFeature or, for shape [], with
	// tf.io.RaggedFeature. Otherwise records are SequenceExamples.
	Examples   bool
	Features   []Feature
	Components []Component
}

// Sequences is [Examples] for records with lists: it is TFRecords, Repeat, Batch and a
// Map of [graph.ParseSequenceExampleV2], or of [graph.ParseExampleV2] with ragged
// features, in one, with the padding of lists. Records that these operations refuse are
// errors, and so is a missing list that is not Optional.
func Sequences(s *graph.Scope, filenames, counts tfbridge.Output, q *Sequence, o *ExamplesOptions) *dataset.Dataset {
	check := o.check()
	op := check.op(opSequenceBatch, opCheckedSequences)
	static, inputs := o.inputs(s, op)
	inputs = append([]tfbridge.Input{filenames, counts}, inputs...)
	return q.addChecked(s, op, static, o.attrs(s, op), check, inputs...)
}

// ParseSequences is [Parse] for records with lists.
func ParseSequences(d *dataset.Dataset, n int64, q *Sequence, o *ParseOptions) *dataset.Dataset {
	const op = opParseSequenceBatch
	static, inputs := o.inputs(d, op, n)
	return q.add(d.Scope(), op, static, o.decode().attrs(), inputs...)
}

// add adds a dataset operation that decodes records with lists to batches.
func (q *Sequence) add(s *graph.Scope, op string, batch int64, more attrs, inputs ...tfbridge.Input) *dataset.Dataset {
	return q.addChecked(s, op, batch, more, nil, inputs...)
}

// addChecked is add with a check of bad records, which may be nil.
func (q *Sequence) addChecked(s *graph.Scope, op string, batch int64, more attrs, check Check, inputs ...tfbridge.Input) *dataset.Dataset {
	specs, all, fills := q.attrs(s, op, batch)
	if s.Err() != nil {
		return none(s)
	}
	maps.Copy(all, more)
	inputs = append(inputs, fills)
	return add(s, op, specs, all, append(inputs, check.add(s, all)...)...)
}

// attrs returns the components in batches of n records, and the attributes and
// the last input of an operation that makes them.
func (q *Sequence) attrs(s *graph.Scope, op string, n int64) (specs []graph.Spec, all attrs, fills tfbridge.OutputList) {
	if q == nil {
		s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "the Sequence is nil"))
		return nil, nil, nil
	}
	all = q.featureAttrs(s, op)
	var parts []string
	var of, sizes, most []int64
	fills = tfbridge.OutputList{}
	for i := range q.Components {
		c := &q.Components[i]
		if c.Feature < 0 || c.Feature >= len(q.Features) {
			s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, "component %d is of feature %d, there are %d", i, c.Feature, len(q.Features)))
			return nil, nil, nil
		}
		limit.Between(-1, limit.PaddedDimension).Check(s, op+": padded size", c.Size)
		specs, parts = append(specs, c.spec(&q.Features[c.Feature], n)), append(parts, string(c.Part))
		of, sizes = append(of, int64(c.Feature)), append(sizes, c.Size)
		limit.Between(0, math.MaxInt64).Check(s, op+": elements that are used", c.Most)
		if c.Most > 0 {
			most = append(most, c.Most)
		} else {
			most = append(most, -1)
		}
		if c.Part == Padded {
			fills = append(fills, c.Fill)
		}
	}
	all["parts"], all["of"], all["sizes"] = parts, of, sizes
	if slices.ContainsFunc(most, func(n int64) bool { return n > 0 }) {
		all["most"] = most
	}
	return specs, all, fills
}

// featureAttrs returns the attributes for the features to decode.
func (q *Sequence) featureAttrs(s *graph.Scope, op string) attrs {
	all := decodeAttrs(s, op, q.Features)
	var records []graph.Spec
	var lists, optional []bool
	for i := range q.Features {
		f := &q.Features[i]
		if err := q.checkList(f); err != nil {
			s.UpdateErr(op, err)
		}
		records, lists, optional = append(records, f.spec(-1)), append(lists, f.List), append(optional, f.Optional)
	}
	all["examples"], all["lists"], all["optional"] = q.Examples, lists, optional
	all["record_types"], all["record_shapes"] = graph.DTypes(records), graph.Shapes(records)
	return all
}

// checkList refuses options that do not fit: some are only for lists of Examples,
// others are not for them.
func (q *Sequence) checkList(f *Feature) error {
	elements, _ := dtype.Elements(f.Shape) // decodeAttrs refuses shapes whose size overflows
	switch {
	case f.Optional && !(q.Examples && f.List):
		return millrace.Errorf(millrace.ErrModel, "feature %q: only a list of Examples can be optional", f.Key)
	case q.Examples && f.List && f.Kind == Raw:
		return millrace.Errorf(millrace.ErrModel, "feature %q: a list of Examples holds no raw numbers", f.Key)
	case q.Examples && f.List && elements < 1:
		return millrace.Errorf(millrace.ErrModel, "feature %q: elements of shape %v have no values to count them by", f.Key, f.Shape)
	}
	return nil
}

// spec returns the type and shape of a component in batches of n.
func (c *Component) spec(f *Feature, n int64) graph.Spec {
	record := f.spec(n)
	switch c.Part {
	case Splits:
		if n >= 0 {
			n++
		}
		return graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(n)}
	case Lengths, Elements:
		return graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(n)}
	case Mask:
		return graph.Spec{DType: tfbridge.Bool, Shape: tfbridge.MakeShape(n, c.Size)}
	case Padded:
		return graph.Spec{DType: record.DType, Shape: tfbridge.MakeShape(append([]int64{n, c.Size}, f.Shape...)...)}
	}
	if f.List {
		return f.spec(-1)
	}
	return record
}
