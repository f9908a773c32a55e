package spec

import (
	"maps"
	"slices"

	"millrace"
	"millrace/diag"
	"millrace/dtype"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
)

// ModelConfig is a file that describes a model's inputs and outputs, for use without the
// model. [ReadModelNames] reads one.
type ModelConfig struct {
	decl.Object
	Inputs  []string `json:"inputs" decl:"required,items.nonempty" doc:"The names of the model's inputs."`
	Outputs []string `json:"outputs" decl:"required,items.nonempty" doc:"The names of the model's outputs, and of labels to compare them with."`
}

// ReadModelNames reads a file of the form {"inputs": [...], "outputs": [...]}.
// The names are nil if a problem is an error.
func ReadModelNames(path string) (*ModelNames, diag.List) {
	c := newChecker(path, nil)
	defer c.disk.close()
	m := &ModelConfig{}
	if node := c.parseGiven(path, "read model"); node != nil {
		c.inConfig.Decode(node, m)
		modelPart{c}.uniqueNames(m)
	}
	problems := c.problems()
	if problems.HasErrors() {
		return nil, problems
	}
	return &ModelNames{Inputs: m.Inputs, Outputs: m.Outputs}, problems
}

// modelPart checks that the model gets what it takes.
type modelPart struct{ *checker }

// uniqueNames reports names that a list of the model holds twice.
func (c modelPart) uniqueNames(m *ModelConfig) {
	if m.At == nil {
		return
	}
	for _, key := range []string{"inputs", "outputs"} {
		seen := make(map[string]bool)
		for _, e := range m.Key(key).Elems() {
			if name := e.Text(); e.Kind() == jsonpos.String && seen[name] {
				c.inConfig.Report(e, "repeated name %s", decl.Quote(name))
			} else {
				seen[name] = true
			}
		}
	}
}

// kept checks that the config provides the tensors that are to be kept.
func (c modelPart) kept() {
	for i, name := range c.o.Keep {
		t, ok := c.byName[name]
		switch {
		case !ok:
			wanted := "is to be kept"
			if by := c.o.KeptFor[name]; by != "" {
				wanted = by + " needs"
			}
			d := c.inConfig.Report(c.args.Key("primary_features"), "no feature is named %s, which %s", decl.Quote(name), wanted)
			if !c.inConfig.Many() {
				d.Hint = nearOrAll("features", name, slices.Sorted(maps.Keys(c.byName)))
			}
		case slices.Contains(c.o.Keep[:i], name):
			c.inConfig.Report(t.at.Key("to_name"), "%s is to be kept twice", decl.Quote(name))
		case c.o.Model != nil && slices.Contains(c.o.Model.Outputs, name):
			c.inConfig.Report(t.at.Key("to_name"), "%s is to be kept, and the model has an output of the same name", decl.Quote(name))
		}
	}
}

// model checks that the config provides all inputs of the model, and no tensor that is
// neither an input nor to be kept.
func (c modelPart) model() {
	if c.args.Bad("primary_features", "secondary_features") {
		return
	}
	c.kept()
	m := c.o.Model
	if m == nil {
		return
	}
	names := slices.Concat(m.Inputs, m.Outputs)
	known := make(map[string]bool, len(names))
	for _, name := range slices.Concat(names, c.o.Keep) {
		known[name] = true
	}
	var strays []string
	for _, t := range c.tensors {
		if known[t.Name] {
			c.fitsModel(t)
			continue
		}
		if t.automatic {
			continue
		}
		strays = append(strays, t.Name)
		d := c.inConfig.Report(t.at.Key("to_name"), "the model has no input or output named %s", decl.Quote(t.Name))
		if !c.inConfig.Many() {
			d.Hint = strayHint(t.Name, names)
		}
	}
	for _, name := range m.Inputs {
		if _, ok := c.byName[name]; ok {
			continue
		}
		d := c.inConfig.Report(c.args.Key("primary_features"), "no feature feeds the model's input %s", decl.Quote(name))
		if c.inConfig.Many() {
			continue
		}
		if near := diag.Nearest(name, strays); near != "" {
			d.Hint = "is " + decl.Quote(near) + " meant for it?"
		}
	}
}

// strayHint says what to do about a tensor that the model does not take: a name of the
// model's that is near, or else how to keep the tensor.
func strayHint(name string, names []string) string {
	if near := diag.DidYouMean(name, names); near != "" {
		return near
	}
	keep := "to copy it beside the model's outputs, keep it: --keep " + name
	if all := nearOrAll("model's names", name, names); all != "" {
		return all + "; " + keep
	}
	return keep
}

// fitsModel checks dtype and shape of a tensor that is fed to the model.
func (c modelPart) fitsModel(t *tensorState) {
	want, ok := c.o.Model.Specs[t.Name]
	if !ok || !slices.Contains(c.o.Model.Inputs, t.Name) {
		return
	}
	at := t.at.Key("to_name")
	if t.typed && t.DType != want.DType {
		d := c.inConfig.Report(at, "the model takes dtype %q, the pipeline gives %q", want.DType, t.DType)
		d.Class = millrace.ErrModel
	}
	if t.shaped && want.Shape != nil && !dtype.MakeShape(want.Shape...).IsCompatibleWith(dtype.MakeShape(c.batchedShape(t)...)) {
		d := c.inConfig.Report(at, "the model takes shape %s, the pipeline gives %s", processing.FormatShape(want.Shape), processing.FormatShape(c.batchedShape(t)))
		d.Class = millrace.ErrModel
	}
}
