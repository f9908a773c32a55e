package engine

import (
	"slices"

	"millrace/dtype"
	"millrace/loaders/spec"
	"millrace/tfrecord"
)

// JudgesRecords reports whether Go reads the records and checks each one, before an
// operation sees it: where bad records are left out, or some that can be decoded are
// bad. Both engines leave out the same records: those that TensorFlow must not parse, and
// those that package check finds bad.
func (c Choice) JudgesRecords() bool { return c.BadRecords != nil || refusesDecodable(c) }

// refusesDecodable reports whether the config calls records bad that can be decoded.
func refusesDecodable(c Choice) bool {
	return c.ChecksFinite() || c.RefuseDuplicates || c.RefusesEmptyRecords()
}

// ReadsNatively reports whether Millrace's own operations read the files, and not Go.
func (c Choice) ReadsNatively() bool { return c.Own && !c.JudgesRecords() }

// ChecksNatively reports whether the native operation that reads the files checks the
// records of a plan that [Choice.JudgesRecords] by itself: where every record is good that can
// be decoded, to finite values where these must be. Go is asked only about the others.
func (c Choice) ChecksNatively() bool {
	if !c.Own || !c.JudgesRecords() || c.RefuseDuplicates || !findsInfinite(c) || stagesRefuse(c) {
		return false
	}
	return c.Window == nil && c.Chunks == nil && (c.Bucket == nil || c.Records == nil)
}

// findsInfinite reports whether the native operations find all values that are not finite
// though they must be: in features of one size that are not cast to a smaller range.
func findsInfinite(c Choice) bool {
	return !slices.ContainsFunc(c.Features, func(f *spec.Feature) bool {
		found := f.Kind == spec.Raw || f.Kind == spec.Float && (f.DType == dtype.Float || f.DType == dtype.Double)
		return f.Finite && (f.VarLen || !found)
	})
}

// stagesRefuse reports whether a stage behind decoding may refuse a record: a checked
// cast, or a slice or padding of what has another size in each record. Other shapes fit, or
// the config is refused.
func stagesRefuse(c Choice) bool {
	cast := func(f *spec.Feature) bool { return f.Kind != spec.Raw && f.CheckedCast && f.DType != f.StoredType() }
	if slices.ContainsFunc(c.Features, cast) {
		return true
	}
	return c.HasLists() && (len(c.Steps) > 0 || c.Padding != nil && !c.NativeTensors())
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

// CutsFiles reports whether the operation of Millrace's own that cuts sequences
// reads and decodes them as well: where they come as plain local files have them,
// and nothing is done to them before they are cut.
func (c Choice) CutsFiles() bool {
	k := c.Chunks
	if k == nil || c.Records != nil || !c.ReadsNatively() || c.Manifest.Compression != tfrecord.None || c.HasRemoteFiles() ||
		!k.Order.IsDefault() || k.Partition > 1 || k.ShuffleSeqs > 1 || len(c.Secondaries)+len(c.Steps) > 0 {
		return false
	}
	for _, f := range c.Features {
		if f.Kind != spec.Raw && f.DType != f.StoredType() {
			return false // a cast comes in between
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
	for i, pad := range c.Padding {
		t := c.Tensors[i]
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
