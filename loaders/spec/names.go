package spec

import (
	"fmt"
	"strings"

	"millrace/diag"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
)

// addTensor adds a tensor under a new name. A nil feature is unknown, and so is what
// depends on it.
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
	if c.gone(d, name) {
		return nil
	}
	if d.Hint = c.renamed(name); d.Hint == "" {
		d.Hint = nearOrAll("tensors", name, c.tensorNames())
	}
	return nil
}

// renamed returns the tensor's name for a feature that is read, or "".
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

// primary returns the tensor of a primary feature, nil if there is none of
// that name.
func (c *checker) primary(name string) *tensorState {
	if t, ok := c.byName[name]; ok && !t.made {
		return t
	}
	return nil
}

// notPrimary explains why a name does not name a primary feature, and proposes a similar
// name.
func (c *checker) notPrimary(name string, others []string) string {
	if hint := c.renamed(name); hint != "" {
		return hint
	}
	if _, ok := c.byName[name]; ok {
		return "that is a secondary feature; only primary ones can be copied"
	}
	return diag.DidYouMean(name, append(others, c.primaryNames()...))
}

// gone returns a message that names the step that removed a tensor, or "" if none did.
func (c *checker) gone(d *diag.Diagnostic, name string) bool {
	step, ok := c.dropped[name]
	if ok {
		d.Hint = "a step of type " + step + " has removed it"
	}
	return ok
}
