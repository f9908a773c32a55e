package spec

import (
	"fmt"
	"maps"
	"slices"
)

// RecordMeasures returns the measures that need the records of windows.
func (s *Spec) RecordMeasures() (list []Measure) {
	for _, m := range s.Measures {
		if m.Records {
			list = append(list, m)
		}
	}
	return list
}

// FeatureOf returns the feature that a primary tensor is read from, nil for
// other tensors.
func (s *Spec) FeatureOf(name string) *Feature {
	for _, primary := range s.Primaries {
		if primary.To == name {
			return primary.From
		}
	}
	return nil
}

// Tensor returns the tensor of a name, a zero TensorSpec if there is none.
func (s *Spec) Tensor(name string) TensorSpec {
	for _, t := range s.Tensors {
		if t.Name == name {
			return t
		}
	}
	return TensorSpec{}
}

// MeasureOf returns the measure of a name, nil if there is none.
func (s *Spec) MeasureOf(name string) *Measure {
	for i := range s.Measures {
		if s.Measures[i].To == name {
			return &s.Measures[i]
		}
	}
	return nil
}

// StepKey returns the place of a step in the config.
func (s *Spec) StepKey(step *Slice) string {
	for i := range s.Steps {
		if &s.Steps[i] == step {
			return fmt.Sprintf("args.processing_steps[%d]", i)
		}
	}
	return ""
}

// SortedFeatures returns the requested features by name, which is the order
// in which TensorFlow's parsers give their outputs.
func (s *Spec) SortedFeatures() []*Feature {
	byName := map[string]*Feature{}
	for _, f := range s.Features {
		byName[f.Name] = f
	}
	sorted := make([]*Feature, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		sorted = append(sorted, byName[name])
	}
	return sorted
}

// HasLists reports whether records are decoded as ones that may hold lists of
// any length: SequenceExamples, and Examples of which a feature is VarLen.
func (s *Spec) HasLists() bool {
	return s.Manifest.AllowVarLen || slices.ContainsFunc(s.Features, func(f *Feature) bool { return f.VarLen })
}

// HasRemoteFiles reports whether some files have a scheme in their path, so that
// only TensorFlow can look at them.
func (s *Spec) HasRemoteFiles() bool {
	for _, f := range s.Files {
		if f.Remote {
			return true
		}
	}
	return false
}

// BatchRows returns how many examples every batch has, -1 if they may differ.
func (s *Spec) BatchRows() int64 {
	switch {
	case s.Chunks != nil:
		return -1
	case !s.DropRemainder && s.Epochs > 0:
		return -1
	case s.Bucket != nil && slices.Min(s.Bucket.Sizes) != s.BatchSize:
		return -1
	}
	return s.BatchSize
}
