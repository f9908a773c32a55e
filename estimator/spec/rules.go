package spec

import "millrace/estimator/optimizer"

// rule is an update rule: the keys that it uses besides everyRule, and a
// function that makes it. The function fills in the defaults of keys that are not
// given, from package optimizer.
type rule struct {
	keys []string
	make func(o *OptimizerConfig) made
}

// made is an optimizer, and the hyperparameters in it that all optimizers have.
type made struct {
	optimizer.Optimizer
	common *optimizer.Common
}

// rules are the update rules by their types.
var rules = map[string]rule{
	"sgd": {[]string{"momentum", "nesterov"}, func(o *OptimizerConfig) made { return o.sgd(0) }},
	"momentum": {[]string{"momentum", "nesterov"}, func(o *OptimizerConfig) made {
		return o.sgd(0.9)
	}},
	"adam":  {adamKeys("amsgrad"), func(o *OptimizerConfig) made { return o.adam(optimizer.NewAdam()) }},
	"adamw": {adamKeys("amsgrad"), func(o *OptimizerConfig) made { return o.adam(optimizer.NewAdamW()) }},
	"adagrad": {[]string{"initial_accumulator_value", "epsilon"}, func(o *OptimizerConfig) made {
		r := optimizer.NewAdagrad()
		take(&r.InitialAccumulatorValue, &o.InitialAccumulator)
		take(&r.Epsilon, &o.Epsilon)
		return made{r, &r.Common}
	}},
	"rmsprop": {[]string{"rho", "momentum", "epsilon", "centered"}, func(o *OptimizerConfig) made {
		r := optimizer.NewRMSprop()
		take(&r.Rho, &o.Rho)
		take(&r.Momentum, &o.Momentum)
		take(&r.Epsilon, &o.Epsilon)
		take(&r.Centered, &o.Centered)
		return made{r, &r.Common}
	}},
	"lion": {[]string{"beta_1", "beta_2"}, func(o *OptimizerConfig) made {
		r := optimizer.NewLion()
		take(&r.Beta1, &o.Beta1)
		take(&r.Beta2, &o.Beta2)
		return made{r, &r.Common}
	}},
	"nadam": {adamKeys(), func(o *OptimizerConfig) made {
		r := optimizer.NewNadam()
		o.betas(&r.Beta1, &r.Beta2, &r.Epsilon)
		return made{r, &r.Common}
	}},
	"adamax": {adamKeys(), func(o *OptimizerConfig) made {
		r := optimizer.NewAdamax()
		o.betas(&r.Beta1, &r.Beta2, &r.Epsilon)
		return made{r, &r.Common}
	}},
	"lamb": {adamKeys(), func(o *OptimizerConfig) made {
		r := optimizer.NewLamb()
		o.betas(&r.Beta1, &r.Beta2, &r.Epsilon)
		return made{r, &r.Common}
	}},
	"adadelta": {[]string{"rho", "epsilon"}, func(o *OptimizerConfig) made {
		r := optimizer.NewAdadelta()
		take(&r.Rho, &o.Rho)
		take(&r.Epsilon, &o.Epsilon)
		return made{r, &r.Common}
	}},
	"ftrl": {[]string{
		"learning_rate_power", "initial_accumulator_value", "l1_regularization_strength", "l2_regularization_strength",
		"l2_shrinkage_regularization_strength", "beta",
	}, func(o *OptimizerConfig) made {
		r := optimizer.NewFtrl()
		take(&r.LearningRatePower, &o.LearningRatePower)
		take(&r.InitialAccumulatorValue, &o.InitialAccumulator)
		take(&r.L1, &o.L1)
		take(&r.L2, &o.L2)
		take(&r.L2Shrinkage, &o.L2Shrinkage)
		take(&r.Beta, &o.Beta)
		return made{r, &r.Common}
	}},
	"adafactor": {[]string{"beta_2_decay", "epsilon_1", "epsilon_2", "clip_threshold"}, func(o *OptimizerConfig) made {
		r := optimizer.NewAdafactor()
		take(&r.Beta2Decay, &o.Beta2Decay)
		take(&r.Epsilon1, &o.Epsilon1)
		take(&r.Epsilon2, &o.Epsilon2)
		take(&r.ClipThreshold, &o.ClipThreshold)
		return made{r, &r.Common}
	}},
}

// adamKeys returns the keys of Adam and its relatives.
func adamKeys(more ...string) []string {
	return append([]string{"beta_1", "beta_2", "epsilon"}, more...)
}

// take sets a hyperparameter to the config's value. If the config has none, take sets
// the config to the hyperparameter's default.
func take[T any](parameter *T, given **T) {
	set(given, *parameter)
	*parameter = **given
}

// betas takes the hyperparameters of Adam and its relatives.
func (o *OptimizerConfig) betas(beta1, beta2, epsilon *float64) {
	take(beta1, &o.Beta1)
	take(beta2, &o.Beta2)
	take(epsilon, &o.Epsilon)
}

// adam sets the hyperparameters of Adam.
func (o *OptimizerConfig) adam(r *optimizer.Adam) made {
	o.betas(&r.Beta1, &r.Beta2, &r.Epsilon)
	take(&r.AMSGrad, &o.AMSGrad)
	return made{r, &r.Common}
}

// sgd returns gradient descent with a default momentum.
func (o *OptimizerConfig) sgd(momentum float64) made {
	r := optimizer.NewSGD()
	r.Momentum = momentum
	take(&r.Momentum, &o.Momentum)
	take(&r.Nesterov, &o.Nesterov)
	return made{r, &r.Common}
}
