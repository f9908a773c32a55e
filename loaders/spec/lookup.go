package spec

import (
	"fmt"
	"maps"
	"slices"
)

// RecordMeasures returns the measures that need the records of windows.
func (p *Spec) RecordMeasures() (list []Measure) {
	for _, m := range p.Measures {
		if m.Records {
			list = append(list, m)
		}
	}
	return list
}

// FeatureOf returns the feature that a primary tensor is read from.
func (p *Spec) FeatureOf(name string) *Feature {
	for _, primary := range p.Primaries {
		if primary.To == name {
			return primary.From
		}
	}
	return nil
}

// Tensor returns what an element holds under a name.
func (p *Spec) Tensor(name string) TensorSpec {
	i := slices.IndexFunc(p.Tensors, func(t TensorSpec) bool { return t.Name == name })
	return p.Tensors[i]
}

// MeasureOf returns the measure of a name, nil if there is none.
func (p *Spec) MeasureOf(name string) *Measure {
	for i := range p.Measures {
		if p.Measures[i].To == name {
			return &p.Measures[i]
		}
	}
	return nil
}

// StepKey returns the place of a step in the config.
func (p *Spec) StepKey(step *Slice) string {
	for i := range p.Steps {
		if &p.Steps[i] == step {
			return fmt.Sprintf("args.processing_steps[%d]", i)
		}
	}
	return ""
}

// SortedFeatures returns the requested features by name, which is the order
// in which TensorFlow's parsers give their outputs.
func (p *Spec) SortedFeatures() []*Feature {
	byName := map[string]*Feature{}
	for _, f := range p.Features {
		byName[f.Name] = f
	}
	sorted := make([]*Feature, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		sorted = append(sorted, byName[name])
	}
	return sorted
}

// HasRemoteFiles reports whether TensorFlow alone can look at some of the files.
func (p *Spec) HasRemoteFiles() bool {
	for _, f := range p.Files {
		if f.Remote {
			return true
		}
	}
	return false
}

// BatchRows returns how many examples every batch has, -1 if they may differ.
func (p *Spec) BatchRows() int64 {
	switch {
	case !p.DropRemainder && p.Epochs > 0:
		return -1
	case p.Bucket != nil && slices.Min(p.Bucket.Sizes) != p.BatchSize:
		return -1
	}
	return p.BatchSize
}
