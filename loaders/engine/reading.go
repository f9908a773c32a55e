package engine

import (
	"slices"

	"millrace/dtype"
	"millrace/loaders/spec"
	"millrace/tfrecord"
)

// ChecksRecords reports whether Go reads and checks each record before an operation
// gets it. That is so where bad records are left out, or where some decodable records
// are bad. Both engines leave out the same records: those that TensorFlow must not
// parse, and those that package check finds bad.
func (c Choice) ChecksRecords() bool {
	return !c.Checked && (c.BadRecords != nil || refusesDecodable(c))
}

// refusesDecodable reports whether the config declares some decodable records bad.
func refusesDecodable(c Choice) bool {
	return c.ChecksFinite() || c.RefuseDuplicates || c.RefusesEmptyRecords()
}

// ReadsNatively reports whether Millrace's own operations read the files, and not Go.
func (c Choice) ReadsNatively() bool { return c.Own && !c.ChecksRecords() }

// ChecksNatively reports whether, in a plan that [Choice.ChecksRecords], the native
// operation that reads the files checks the records itself. It does where every record
// is good that can be decoded, has each key once, and to finite values if these are required.
// Then Go is asked only about the other records.
func (c Choice) ChecksNatively() bool {
	if !c.Own || !c.ChecksRecords() || !findsInfinite(c) || stagesRefuse(c) {
		return false
	}
	return c.Window == nil && c.Chunks == nil && (c.Bucket == nil || c.Records == nil)
}

// findsInfinite reports whether the native operations find all forbidden infinities and
// NaNs: in features of fixed size that are not cast to a smaller range.
func findsInfinite(c Choice) bool {
	return !slices.ContainsFunc(c.Features, func(f *spec.Feature) bool {
		found := f.Kind == spec.Raw || f.Kind == spec.Float && (f.DType == dtype.Float || f.DType == dtype.Double)
		return f.Finite && (f.VarLen || !found)
	})
}

// stagesRefuse reports whether a stage after decoding may refuse a record: a checked
// cast, or a slice or padding of a tensor whose size differs from record to record.
// Other shapes fit, or the config is refused.
func stagesRefuse(c Choice) bool {
	cast := func(f *spec.Feature) bool { return f.Kind != spec.Raw && f.CheckedCast && f.DType != f.StoredType() }
	if slices.ContainsFunc(c.Features, cast) {
		return true
	}
	if c.BadRecords != nil && spec.StepsRefuse(c.Spec) {
		return true
	}
	return c.HasLists() && (len(c.Steps) > 0 || c.Examples().Padding != nil && !c.NativeTensors())
}

// ReadsByPlace reports whether records are read by their place in the files, and not
// one file after the other.
func (c Choice) ReadsByPlace() bool {
	k := c.Chunks
	if c.Records != nil {
		return true
	}
	if k == nil || c.Manifest.Compression != tfrecord.None || c.HasRemoteFiles() {
		return false
	}
	return !k.Order.IsDefault() || k.Partition > 1
}

// CutsFiles reports whether our operation that cuts sequences reads and decodes them as
// well. It does if the records come in the order of plain local files, and no stage
// changes them before they are cut.
func (c Choice) CutsFiles() bool {
	k := c.Chunks
	if k == nil || c.Records != nil || c.Skips || !c.ReadsNatively() || c.Manifest.Compression != tfrecord.None || c.HasRemoteFiles() ||
		!k.Order.IsDefault() || k.Partition > 1 || k.ShuffleSeqs > 1 || len(c.Secondaries)+len(c.Steps) > 0 {
		return false
	}
	for _, f := range c.Features {
		if f.Kind != spec.Raw && f.DType != f.StoredType() {
			return false // a cast comes between
		}
	}
	for _, o := range k.Outputs {
		if o.Kind == spec.SeqIdx || o.Kind == spec.SeqTag && k.TagFeature == nil {
			return false // made of places
		}
	}
	return !slices.ContainsFunc(c.Measures, func(m spec.Measure) bool { return measuresRecords(c, m) }) && !padsFrames(c)
}

// measuresRecords reports whether a measure is known before rows are cut.
func measuresRecords(c Choice, m spec.Measure) bool {
	isSequence := func(s spec.Sequence) bool { return s.Tensor == m.Tensor }
	f := c.FeatureOf(m.Tensor)
	framed := f != nil && f.VarLen || slices.ContainsFunc(c.Chunks.Sequences, isSequence)
	return m.Kind != spec.ElementCount && (m.Axis != 0 || !framed)
}

// padsFrames reports whether padding makes frames larger, or tensors without
// frames.
func padsFrames(c Choice) bool {
	examples := c.Examples()
	for i, pad := range examples.Padding {
		t := examples.Tensors[i]
		for axis, n := range t.Shape {
			isSequence := func(s spec.Sequence) bool { return s.Tensor == t.Name }
			if f := c.FeatureOf(t.Name); axis == 0 && (f != nil && f.VarLen || slices.ContainsFunc(c.Chunks.Sequences, isSequence)) {
				continue // frames
			}
			if n < 0 || pad.Shape[axis] > n {
				return true
			}
		}
	}
	return false
}
