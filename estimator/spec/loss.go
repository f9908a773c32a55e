package spec

import (
	"slices"

	"millrace/estimator"
	"millrace/estimator/losses"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
)

// loss checks the losses, in all their forms.
func (c *checker) loss() {
	t := &c.run.Config.Model.Train
	if t.At != nil && t.Has("losses") && t.Has("loss") {
		c.report.Report(t.Key("losses"), "loss is given too; only one of the two is used")
	}
	if t.At != nil && t.Bad("loss") {
		if t.Key("loss").Kind() == jsonpos.List {
			c.report.Report(t.Key("loss"), "several losses have the key \"losses\"")
		}
		return
	}
	list := t.all()
	if len(list) == 0 {
		if t.At == nil || !t.Bad("losses") {
			c.ownLoss(t)
		}
		return
	}
	if t.At == nil {
		return
	}
	if t.Optimizer == nil && !t.Bad("optimizer") {
		c.report.Report(t.At, "missing key \"optimizer\", which a loss of some type needs")
	}
	seen := map[string]bool{}
	for _, l := range list {
		if l.At == nil || l.Bad("type") {
			continue
		}
		c.oneLoss(l)
		if seen[l.Predictions] && !l.Bad("predictions") {
			c.report.Report(l.Key("predictions"), "another loss is of output %s too, and they would be reported under one name", decl.Quote(l.Predictions))
		}
		seen[l.Predictions] = true
	}
}

// oneLoss checks one loss.
func (c *checker) oneLoss(l *LossConfig) {
	kind := losses.Type(l.Type)
	if kind.NeedsLabels() && l.Labels == "" && !l.Bad("labels") {
		c.report.Report(l.At, "missing key \"labels\"")
	}
	for _, k := range []struct {
		key  string
		used bool
	}{
		{"labels", kind.NeedsLabels()}, {"from", kind.CrossEntropy()}, {"delta", kind == losses.Huber}, {"label_smoothing", kind.Smooths()},
		{"gamma", kind.Focal()}, {"alpha", kind.Focal()}, {"apply_class_balancing", kind == losses.BinaryFocal},
		{"class_weights", kind.NeedsLabels() && kind != losses.CTC},
	} {
		if !k.used {
			c.ignored(l.At, k.key, l.Type, l.Type)
		}
	}
	if l.Bad("predictions") || c.train == nil {
		return
	}
	if names := outputs(c.train); !slices.Contains(names, l.Predictions) {
		d := c.report.Report(l.Key("predictions"), "signature %s has no output %s", decl.Quote(c.train.Name), decl.Quote(l.Predictions))
		d.Hint = nearest(l.Predictions, names)
	}
}

// ownLoss checks a loss that is an output of the signature.
func (c *checker) ownLoss(t *SignatureConfig) {
	if t.At != nil {
		for _, key := range []string{"optimizer", "variables", "clip_norm", "l2"} {
			if t.Has(key) && t.Key(key).Kind() != jsonpos.Null {
				d := c.report.Report(t.Key(key), "it goes with a loss of some type, and here the signature itself changes the variables")
				d.Hint = "write the loss as an object with type, predictions and labels"
			}
		}
	}
	if c.train == nil {
		return
	}
	names, loss := outputs(c.train), t.LossOutput()
	if slices.Contains(names, loss) {
		return
	}
	at := c.run.Config.Model.At
	if t.At != nil {
		at = t.Key("loss")
	}
	d := c.report.Report(at, "signature %s has no output %s to be the loss", decl.Quote(c.train.Name), decl.Quote(loss))
	d.Hint = nearest(loss, names)
}

// ignored warns of a key that some types of an object ignore.
func (c *checker) ignored(at *jsonpos.Node, key, kind string, ignoring ...string) {
	if at.Key(key).Kind() != jsonpos.Missing && slices.Contains(ignoring, kind) {
		c.report.Warn(at.Key(key), "%q does not use it", kind)
	}
}

// isInput reports whether the signature that trains takes a tensor.
func (c *checker) isInput(name string) bool {
	if c.train == nil {
		return false
	}
	for _, t := range c.train.Inputs {
		if t.Name == name {
			return true
		}
	}
	return false
}

// evaluatesLoss reports whether an evaluation gives the loss.
func (c *checker) evaluatesLoss() bool {
	t, names := &c.run.Config.Model.Train, outputs(c.evaluate)
	if slices.Contains(names, t.LossOutput()) {
		return true
	}
	list := t.all()
	return len(list) > 0 && !slices.ContainsFunc(list, func(l *LossConfig) bool { return !slices.Contains(names, l.Predictions) })
}

// objective returns how to train a signature that only predicts, nil where the
// signature changes the variables itself.
func (c *SignatureConfig) objective(plateau *PlateauConfig) *estimator.Objective {
	list := c.all()
	if len(list) == 0 || c.Optimizer == nil {
		return nil
	}
	o := &estimator.Objective{Optimizer: c.Optimizer.optimizer(plateau), ClipNorm: c.ClipNorm, L2: c.L2, Variables: c.Variables}
	for i, l := range list {
		term := l.term()
		if i == 0 {
			o.Loss, o.Predictions, o.Labels, o.Weights, o.Weight = term.Loss, term.Predictions, term.Labels, term.Weights, term.Weight
		} else {
			o.More = append(o.More, term)
		}
	}
	return o
}

// term returns the loss with those parameters that its type uses.
func (l *LossConfig) term() estimator.Term {
	loss := losses.Loss{Type: losses.Type(l.Type)}
	kind := loss.Type
	loss.Probabilities = kind.CrossEntropy() && l.From == "probabilities"
	if kind == losses.Huber {
		loss.Delta = l.Delta
	}
	if kind.Smooths() {
		loss.LabelSmoothing = l.LabelSmoothing
	}
	if kind.Focal() {
		loss.Gamma, loss.Alpha = l.Gamma, l.Alpha
		loss.ClassBalancing = l.ClassBalancing && kind == losses.BinaryFocal
	}
	term := estimator.Term{Loss: loss, Predictions: l.Predictions, Weights: l.Weights, Weight: l.Weight}
	if kind.NeedsLabels() {
		term.Labels = l.Labels
		if kind != losses.CTC {
			term.Loss.ClassWeights = l.ClassWeights
		}
	}
	return term
}
