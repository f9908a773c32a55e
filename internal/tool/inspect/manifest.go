package inspect

import (
	"encoding/json"
	"fmt"

	"millrace"
	"millrace/loaders/spec"
	"millrace/tfrecord"
)

// remark adds the notes that help to write a manifest.
func (r *Report) remark() {
	if _, err := r.compression(); err != nil {
		r.note("%v", err)
	}
	for _, f := range r.Features {
		if why := r.unfit(f); why != "" {
			r.note("%s: %s, so no manifest can describe it", f.label(), why)
			continue
		}
		if f.Records < r.Parsed {
			r.note("%s: is in %d of %d records; \"default\": [] in the manifest makes it empty in the others", f.label(), f.Records, r.Parsed)
		}
		if f.Kinds[0] == "bytes" && !f.Text && f.Bytes.Min == f.Bytes.Max {
			r.note("%s: byte strings of %d bytes each; if they are serialized tensors, set deserialize_type to %q in the manifest", f.label(), f.Bytes.Min, "raw")
		}
	}
}

// label names a feature in a note.
func (f *Feature) label() string {
	if f.List {
		return "feature list " + millrace.QuoteData([]byte(f.Name))
	}
	return "feature " + millrace.QuoteData([]byte(f.Name))
}

// unfit returns the reason why a feature cannot be in a manifest, "" if it can. In a
// manifest each feature has one kind. A feature of an Example may have any number of
// values, and may be missing in records. In SequenceExamples each feature has one shape
// and is in every record.
func (r *Report) unfit(f *Feature) string {
	switch {
	case len(f.Kinds) == 0:
		return "holds no values"
	case len(f.Kinds) > 1:
		return fmt.Sprintf("holds %s in some records and %s in others", f.Kinds[0], f.Kinds[1])
	case !r.Sequence:
		return ""
	case f.Records < r.Parsed:
		return fmt.Sprintf("is in %d of %d records", f.Records, r.Parsed)
	case f.Values.Min != f.Values.Max && f.List:
		return fmt.Sprintf("holds %d to %d values a step", f.Values.Min, f.Values.Max)
	case f.Values.Min != f.Values.Max:
		return fmt.Sprintf("holds %d to %d values", f.Values.Min, f.Values.Max)
	case f.Values.Max == 0:
		return "holds no values"
	}
	return ""
}

// compression returns the compression that all files have.
func (r *Report) compression() (tfrecord.Compression, error) {
	var first *File
	for _, f := range r.Files {
		if f.Records == 0 {
			continue // an empty file fits any compression
		}
		if first == nil {
			first = f
		}
		if f.Compression != first.Compression {
			return "", millrace.Errorf(millrace.ErrConfig, "the compression is %s in %s, but %s in %s; all files of a dataset must have the same compression",
				first.Compression, millrace.Quote(first.Path), f.Compression, millrace.Quote(f.Path))
		}
	}
	if first == nil {
		return tfrecord.None, nil
	}
	return first.Compression, nil
}

// guesses maps a feature's kind to a manifest's dtype and deserialize_type.
var guesses = map[string]struct {
	dtype  string
	stored spec.Kind
}{"int": {"int64", spec.Int}, "float": {"float32", spec.Float}, "bytes": {"string", spec.String}}

// Manifest returns a first manifest as JSON. It has the features that have one kind in
// all records. Their number of values becomes their shape: -1 where it differs. For
// SequenceExamples it only describes features that are in every record with the same
// number of values. The user adds what the data does not show: that 64 values are an
// image of 8 by 8, or bytes a raw tensor.
func (r *Report) Manifest() ([]byte, error) {
	c, err := r.compression()
	if err != nil {
		return nil, err
	}
	m := &spec.ManifestConfig{AllowVarLen: r.Sequence, Features: []spec.FeatureConfig{}}
	if c != tfrecord.None {
		name := string(c)
		m.Compression = &name
	}
	for _, f := range r.Features {
		if r.unfit(f) == "" {
			m.Features = append(m.Features, r.entry(f))
		}
	}
	if len(m.Features) == 0 {
		e := millrace.Errorf(millrace.ErrSchema, "no feature has one kind of values in all records")
		e.File = r.Path
		return nil, e
	}
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}

// entry returns the manifest's entry for a feature.
func (r *Report) entry(f *Feature) spec.FeatureConfig {
	guess := guesses[f.Kinds[0]]
	entry := spec.FeatureConfig{Name: f.Name, DType: guess.dtype, DeserializeType: guess.stored, Shape: []int64{}, VarLen: r.Sequence && f.List}
	missing := f.Records < r.Parsed
	switch {
	case !r.Sequence && (missing || f.Values.Min != f.Values.Max || f.Values.Max == 0):
		entry.Shape = append(entry.Shape, -1)
	case f.Values.Max > 1:
		entry.Shape = append(entry.Shape, f.Values.Max)
	}
	if missing {
		entry.Default = []int64{}
	}
	return entry
}
