package spec

import (
	"fmt"
	"path/filepath"
	"slices"

	"millrace/loaders/decl"
)

// evaluateKeep returns the tensors that the evaluation's loader must give
// beside the inputs of the signature.
func (c *checker) evaluateKeep() kept {
	e := c.run.Config.Evaluate
	var inputs, given []string
	if c.evaluate != nil {
		given = outputs(c.evaluate)
		for _, t := range c.evaluate.Inputs {
			inputs = append(inputs, t.Name)
		}
	}
	var keep kept
	add := func(by string, names ...string) {
		for _, name := range names {
			if !slices.Contains(given, name) && !slices.Contains(inputs, name) {
				keep.add(name, by)
			}
		}
	}
	for _, l := range c.run.Config.Model.Train.all() {
		if !slices.Contains(given, l.Predictions) {
			continue
		}
		add("the loss", l.Labels, l.Weights)
	}
	for _, m := range e.Metrics {
		add(fmt.Sprintf("metric %s of %s", decl.Quote(m.Name), filepath.Base(c.run.Path)), m.Labels, m.Predictions, m.Weights)
	}
	add("", e.Keep...)
	return keep
}

// kept are tensors that a loader must give beside the inputs of a signature.
type kept struct {
	names []string
	by    map[string]string // what needs a tensor; see loaders.CheckOptions.KeptFor
}

// add adds a tensor that something needs. A name that is "" or is there already adds nothing.
func (k *kept) add(name, by string) {
	if name == "" || slices.Contains(k.names, name) {
		return
	}
	if k.by == nil {
		k.by = map[string]string{}
	}
	k.names, k.by[name] = append(k.names, name), by
}

// trainKeep returns the tensors that the training's loader must give beside the
// inputs of the signature.
func (c *checker) trainKeep() kept {
	var keep kept
	for _, l := range c.run.Config.Model.Train.all() {
		for _, name := range []string{l.Labels, l.Weights} {
			if name != "" && !c.isInput(name) {
				keep.add(name, "the loss")
			}
		}
	}
	for _, name := range c.run.Config.Train.Keep {
		keep.add(name, "")
	}
	return keep
}
