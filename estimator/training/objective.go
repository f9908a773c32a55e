package training

import (
	"path"
	"slices"

	"millrace"
	"millrace/estimator/losses"
	"millrace/estimator/optimizer"
)

// Objective says how to train a signature that only predicts. Joined with an
// objective, a signature changes variables: a step computes a loss of one of its
// outputs, the derivatives of that loss, and updates the variables by them. Its
// outputs are LossOutput and LearningRateOutput, then those that
// JoinOptions.Outputs names, all of before the update.
//
// docs/gradients.md lists the operations that the signature may consist of. Another
// one between a variable and the loss is an error of class ErrModel that names it.
type Objective struct {
	Loss        losses.Loss
	Predictions string // the output that the loss is of; "": the only one
	Labels      string // a tensor of the source
	Weights     string // a tensor of the source, one for each example; "": all count alike

	// More are further losses, such as one for each other output. The sum of all is trained.
	// Each is an output too, unweighted, under the name of its predictions and "_loss".
	More   []Term
	Weight float64 // the first loss counts this many times; 0: once

	Optimizer optimizer.Optimizer
	ClipNorm  float64 // the largest global norm of the gradients; 0: any
	L2        float64 // the loss grows by this times the sum of the squares of the trained variables

	// Seed seeds random operations of the signature, such as tf.nn.dropout, to which the
	// model gives no seed. Dropout layers of Keras have their own, in variables.
	Seed int64

	// Variables are patterns for the names of the variables to train, as path.Match
	// has them, except that * and ? also match a slash. A name is one that Python gave
	// the variable, or its path in a checkpoint. Nil means all variables of floating
	// point that the loss depends on, without those that Python marked as not
	// trainable, such as the moving averages of a batch normalization.
	Variables []string
}

// Term is one of several losses of an [Objective].
type Term struct {
	Loss        losses.Loss
	Predictions string  // the output that the loss is of
	Labels      string  // a tensor of the source; "" for a loss that needs none
	Weights     string  // a tensor of the source, one for each example; "": all count alike
	Weight      float64 // the loss counts this many times; 0: once
}

// NeedsLabels reports whether the loss compares predictions with labels.
func (t *Term) NeedsLabels() bool { return t.Loss.Function != nil || t.Loss.Type.NeedsLabels() }

// Terms returns all losses, the first one of the given predictions.
func (o *Objective) Terms(predictions string) []Term {
	return append([]Term{{o.Loss, predictions, o.Labels, o.Weights, o.Weight}}, o.More...)
}

// Outputs of a signature that was joined with an [Objective].
const (
	LossOutput         = "loss"
	LearningRateOutput = "learning_rate"
)

// Tensors returns the names of the tensors of the source that the losses need.
func (o *Objective) Tensors() []string {
	var names []string
	for _, term := range o.Terms(o.Predictions) {
		for _, name := range []string{term.Labels, term.Weights} {
			required := name == term.Labels && term.NeedsLabels()
			if (name != "" || required) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Check refuses patterns that are malformed.
func (o *Objective) Check() error {
	for _, pattern := range o.Variables {
		if _, err := path.Match(pattern, ""); err != nil {
			return millrace.Errorf(millrace.ErrConfig, "variables: %q is not a pattern: %w", pattern, err)
		}
	}
	return nil
}
