package optimizer

import (
	"math"
	"regexp"

	"millrace/tfbridge"
)

// check checks the arguments of Apply.
func check(o Optimizer, gradients []Gradient, opts *ApplyOptions) error {
	switch {
	case o == nil:
		return errorf("the optimizer is nil")
	case len(gradients) == 0:
		return errorf("there is no variable to train")
	case opts.ClipNorm < 0 || math.IsNaN(opts.ClipNorm) || math.IsInf(opts.ClipNorm, 0):
		return errorf("clip_norm is %v; it must be 0 or positive", opts.ClipNorm)
	}
	if err := o.Settings().check(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, g := range gradients {
		switch v := g.Variable; {
		case seen[v.Name]:
			return errorf("variable %q has two gradients", v.Name)
		case g.Value.Op == nil:
			return errorf("variable %q has no gradient", v.Name)
		case g.Value.DataType() != v.DType:
			return errorf("variable %q is %v and its gradient %v", v.Name, v.DType, g.Value.DataType())
		case g.Indices.Op != nil && v.Shape.NumDimensions() == 0:
			return errorf("variable %q is a scalar; its gradient cannot have rows", v.Name)
		case !fullyDefined(v.Shape):
			return errorf("variable %q has the shape %v; it must be fully defined", v.Name, v.Shape)
		}
		seen[g.Variable.Name] = true
	}
	return o.Check()
}

// check checks the hyperparameters of all optimizers.
func (c Common) check() error {
	for _, h := range []struct {
		name  string
		value float64
	}{
		{"weight_decay", c.WeightDecay}, {"clipnorm", c.ClipNorm}, {"clipvalue", c.ClipValue}, {"global_clipnorm", c.GlobalClipNorm},
		{"loss_scale_factor", c.LossScaleFactor}, {"gradient_accumulation_steps", float64(c.GradientAccumulationSteps)},
		{"ema_overwrite_frequency", float64(c.EMAOverwriteFrequency)},
	} {
		if err := notNegative(h.name, h.value); err != nil {
			return err
		}
	}
	for _, pattern := range c.ExcludeFromWeightDecay {
		if _, err := regexp.Compile(pattern); err != nil {
			return errorf("exclude_from_weight_decay: %q is not a regular expression: %w", pattern, err)
		}
	}
	if err := fraction("ema_momentum", c.EMAMomentum); err != nil {
		return err
	}
	if c.LossScale != nil {
		if err := c.LossScale.check(); err != nil {
			return err
		}
	}
	if c.LearningRate == nil {
		return errorf("the learning rate is nil")
	}
	return c.LearningRate.Check()
}

// fullyDefined reports whether all dimensions of a shape are known.
func fullyDefined(s tfbridge.Shape) bool {
	for i := range s.NumDimensions() {
		if s.Size(i) < 0 {
			return false
		}
	}
	return s.NumDimensions() >= 0
}
