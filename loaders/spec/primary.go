package spec

import (
	"slices"

	"millrace/loaders/decl"
)

// PrimaryConfig is one entry of "primary_features": a feature to read.
type PrimaryConfig struct {
	decl.Object
	FromName string `json:"from_name" decl:"required" doc:"The name of a feature of the manifest."`
	ToName   string `json:"to_name" decl:"required,nonempty,label=tensor" doc:"The tensor's name in the pipeline and for the model."`
}

// primaryPart checks the features to read.
type primaryPart struct{ *checker }

// primaries finds the features that are read and makes their tensors.
func (c primaryPart) primaries() {
	requested := make(map[string]*Feature)
	for i := range c.args.PrimaryFeatures {
		p := &c.args.PrimaryFeatures[i]
		if p.At == nil {
			continue
		}
		state := c.requested(p)
		if !p.Bad("to_name") {
			c.addTensor(p.At, p.ToName, state)
		}
		if state == nil || p.Bad("to_name") {
			continue
		}
		f := requested[p.FromName]
		if f == nil {
			f = &state.Feature
			requested[p.FromName] = f
			c.spec.Features = append(c.spec.Features, f)
		}
		c.spec.Primaries = append(c.spec.Primaries, Primary{From: f, To: p.ToName})
	}
	slices.SortFunc(c.spec.Features, func(a, b *Feature) int { return a.Index - b.Index })
}

// requested returns the feature that an entry names, nil if there is none.
func (c primaryPart) requested(p *PrimaryConfig) *featureState {
	if p.Bad("from_name") || c.features == nil {
		return nil
	}
	state, ok := c.features[p.FromName]
	if ok || c.unnamed {
		return state
	}
	d := c.inConfig.Report(p.Key("from_name"), "no feature named %s in the manifest", decl.Quote(p.FromName))
	if !c.inConfig.Many() {
		d.Hint = nearOrAll("features", p.FromName, c.featureNames)
	}
	return nil
}
