package spec

import (
	"slices"

	"millrace/estimator"
	"millrace/estimator/losses"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
)

// loss checks the loss, in both of its forms.
func (c *checker) loss() {
	t := &c.run.Config.Model.Train
	if t.Loss.B == nil {
		c.ownLoss(t)
		return
	}
	if t.At == nil || t.Loss.B.At == nil {
		return
	}
	if t.Optimizer == nil && !t.Bad("optimizer") {
		c.report.Report(t.At, "missing key \"optimizer\", which a loss of some type needs")
	}
	l := t.Loss.B
	if l.Bad("predictions") || c.train == nil {
		return
	}
	if names := outputs(c.train); !slices.Contains(names, l.Predictions) {
		d := c.report.Report(l.Key("predictions"), "signature %s has no output %s", decl.Quote(c.train.Name), decl.Quote(l.Predictions))
		d.Hint = nearest(l.Predictions, names)
	}
	c.ignored(l.At, "from", l.Type, "mean_squared_error", "mean_absolute_error", "huber")
	if l.Type != string(losses.Huber) {
		c.ignored(l.At, "delta", l.Type, l.Type)
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
	if c.train == nil || t.Bad("loss") {
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

// trainKeep returns the tensors that the training's loader must give beside the
// inputs of the signature.
func (c *checker) trainKeep() kept {
	var keep kept
	if l := c.run.Config.Model.Train.Loss.B; l != nil {
		for _, name := range []string{l.Labels, l.Weights} {
			if !c.isInput(name) {
				keep.add(name, "the loss")
			}
		}
	}
	for _, name := range c.run.Config.Train.Keep {
		keep.add(name, "")
	}
	return keep
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
	return slices.Contains(names, t.LossOutput()) || t.Loss.B != nil && slices.Contains(names, t.Loss.B.Predictions)
}

// objective returns how to train a signature that only predicts, nil where the
// signature changes the variables itself.
func (c *SignatureConfig) objective(plateau *PlateauConfig) *estimator.Objective {
	l := c.Loss.B
	if l == nil || c.Optimizer == nil {
		return nil
	}
	loss := losses.Loss{Type: losses.Type(l.Type)}
	switch loss.Type {
	case losses.Huber:
		loss.Delta = l.Delta
	case losses.SparseSoftmaxCrossEntropy, losses.SoftmaxCrossEntropy, losses.SigmoidCrossEntropy:
		loss.Probabilities = l.From == "probabilities"
	}
	return &estimator.Objective{
		Loss: loss, Predictions: l.Predictions, Labels: l.Labels, Weights: l.Weights,
		Optimizer: c.Optimizer.optimizer(plateau), ClipNorm: c.ClipNorm, L2: c.L2, Variables: c.Variables,
	}
}
