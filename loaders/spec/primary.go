package spec

import (
	"fmt"
	"slices"
	"strings"

	"millrace/diag"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
)

// PrimaryConfig is one entry of "primary_features": a feature to read.
type PrimaryConfig struct {
	decl.Object
	FromName string `json:"from_name" decl:"required" doc:"The name of a feature of the manifest."`
	ToName   string `json:"to_name" decl:"required,nonempty,label=tensor" doc:"The tensor's name in the pipeline and for the model."`
}

// primaries finds the features that are read and makes their tensors.
func (c *checker) primaries() {
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
func (c *checker) requested(p *PrimaryConfig) *featureState {
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

// addTensor adds a tensor under a new name. A nil feature is one that is not
// known: what follows from it is not known either.
func (c *checker) addTensor(at *jsonpos.Node, name string, f *featureState) *tensorState {
	if first, ok := c.byName[name]; ok {
		line, _ := first.at.Key("to_name").Position()
		c.inConfig.Report(at.Key("to_name"), "to_name %s is taken by the feature in line %d; names must be unique", decl.Quote(name), line)
		return nil
	}
	t := &tensorState{TensorSpec: TensorSpec{Name: name, Shape: []int64{}}, index: len(c.tensors), at: at}
	if f != nil {
		t.typed, t.shaped = f.typed, f.shaped
		t.DType = f.DType
		t.Shape = append(t.Shape, f.TensorShape()...)
	}
	c.byName[name] = t
	c.tensors = append(c.tensors, t)
	return t
}

// tensorNames returns the names of all tensors in the config's order.
func (c *checker) tensorNames() []string {
	names := make([]string, len(c.tensors))
	for i, t := range c.tensors {
		names[i] = t.Name
	}
	return names
}

// primaryNames returns the names of the tensors that are read.
func (c *checker) primaryNames() []string {
	var names []string
	for _, t := range c.tensors {
		if !t.made {
			names = append(names, t.Name)
		}
	}
	return names
}

// tensor returns the tensor that an entry names, nil if it is not there.
func (c *checker) tensor(at *jsonpos.Node, name string) *tensorState {
	t, ok := c.byName[name]
	if ok {
		return t
	}
	d := c.inConfig.Report(at, "no tensor named %s", decl.Quote(name))
	if c.inConfig.Many() {
		return nil
	}
	if d.Hint = c.renamed(name); d.Hint == "" {
		d.Hint = nearOrAll("tensors", name, c.tensorNames())
	}
	return nil
}

// renamed says under which name a feature is read, "" if it is not.
func (c *checker) renamed(feature string) string {
	for _, p := range c.spec.Primaries {
		if p.From.Name == feature {
			return fmt.Sprintf("the feature of that name is the tensor %s here", decl.Quote(p.To))
		}
	}
	return ""
}

// maxNamed is how many names a hint lists.
const maxNamed = 8

// nearOrAll proposes the name that is nearest, or else lists all if they are
// few.
func nearOrAll(what, name string, known []string) string {
	if hint := diag.DidYouMean(name, known); hint != "" || len(known) > maxNamed || len(known) == 0 {
		return hint
	}
	quoted := make([]string, len(known))
	for i, k := range known {
		quoted[i] = decl.Quote(k)
	}
	return fmt.Sprintf("the %s are %s", what, strings.Join(quoted, ", "))
}
