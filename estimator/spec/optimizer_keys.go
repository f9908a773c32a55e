package spec

import "millrace/loaders/decl"

// OptimizerConfig is an optimizer with Keras's names. Every optimizer has its own
// defaults, which [Check] fills in; a key that an optimizer does not use stays
// nil.
type OptimizerConfig struct {
	decl.Object
	Type         string                               `json:"type" decl:"required,enum=sgd|momentum|adam|adamw|adagrad|rmsprop|lion|nadam|adamax|adadelta|ftrl|lamb|adafactor" doc:"The update rule, as Keras defines it; momentum is sgd with momentum 0.9."`
	LearningRate decl.Either[float64, ScheduleConfig] `json:"learning_rate" decl:"above=0" doc:"The learning rate, or how it changes. Default: 0.01 for sgd and momentum, 0.001 for the others."`
	RuleConfig
	UpdateConfig
}

// RuleConfig holds the hyperparameters that some optimizers have. Those that the type of
// an optimizer does not use stay nil.
type RuleConfig struct {
	Momentum           *float64 `json:"momentum,omitempty" decl:"null,min=0,below=1" doc:"For sgd (default 0), momentum (0.9) and rmsprop (0)."`
	Nesterov           *bool    `json:"nesterov,omitempty" decl:"null" doc:"For sgd and momentum. Default: false."`
	Beta1              *float64 `json:"beta_1,omitempty" decl:"null,min=0,below=1" doc:"For adam, adamw, lion, nadam, adamax and lamb. Default: 0.9."`
	Beta2              *float64 `json:"beta_2,omitempty" decl:"null,min=0,below=1" doc:"For adam, adamw, nadam, adamax and lamb (default 0.999) and lion (0.99)."`
	Epsilon            *float64 `json:"epsilon,omitempty" decl:"null,above=0" doc:"For all but sgd, momentum, lion, ftrl and adafactor. Default: 1e-7."`
	AMSGrad            *bool    `json:"amsgrad,omitempty" decl:"null" doc:"For adam and adamw. Default: false."`
	Rho                *float64 `json:"rho,omitempty" decl:"null,min=0,below=1" doc:"For rmsprop (default 0.9) and adadelta (0.95)."`
	Centered           *bool    `json:"centered,omitempty" decl:"null" doc:"For rmsprop. Default: false."`
	InitialAccumulator *float64 `json:"initial_accumulator_value,omitempty" decl:"null,min=0" doc:"For adagrad and ftrl. Default: 0.1."`
	LearningRatePower  *float64 `json:"learning_rate_power,omitempty" decl:"null,max=0" doc:"For ftrl. Default: -0.5."`
	L1                 *float64 `json:"l1_regularization_strength,omitempty" decl:"null,min=0" doc:"For ftrl. Default: 0."`
	L2                 *float64 `json:"l2_regularization_strength,omitempty" decl:"null,min=0" doc:"For ftrl. Default: 0."`
	L2Shrinkage        *float64 `json:"l2_shrinkage_regularization_strength,omitempty" decl:"null,min=0" doc:"For ftrl. Default: 0."`
	Beta               *float64 `json:"beta,omitempty" decl:"null,min=0" doc:"For ftrl. Default: 0."`
	Beta2Decay         *float64 `json:"beta_2_decay,omitempty" decl:"null" doc:"For adafactor. Default: -0.8."`
	Epsilon1           *float64 `json:"epsilon_1,omitempty" decl:"null,min=0" doc:"For adafactor. Default: 1e-30."`
	Epsilon2           *float64 `json:"epsilon_2,omitempty" decl:"null,min=0" doc:"For adafactor. Default: 0.001."`
	ClipThreshold      *float64 `json:"clip_threshold,omitempty" decl:"null,above=0" doc:"For adafactor. Default: 1."`
}

// UpdateConfig holds the hyperparameters that all optimizers have.
type UpdateConfig struct {
	WeightDecay  *float64 `json:"weight_decay,omitempty" decl:"null,min=0" doc:"Each step first takes this times the learning rate of each variable from it. Default: 0.004 for adamw, 0 for the others."`
	Exclude      []string `json:"exclude_from_weight_decay,omitempty" decl:"items.nonempty" doc:"Regular expressions, such as bias: weight_decay leaves alone the variables whose name one of them matches somewhere."`
	ClipNorm     *float64 `json:"clipnorm,omitempty" decl:"null,above=0" doc:"The largest norm of each variable's gradient."`
	ClipValue    *float64 `json:"clipvalue,omitempty" decl:"null,above=0" doc:"The largest absolute value in a gradient."`
	GlobalClip   *float64 `json:"global_clipnorm,omitempty" decl:"null,above=0" doc:"The largest norm of all gradients together."`
	UseEMA       *bool    `json:"use_ema,omitempty" decl:"null" doc:"Keep an exponential moving average of each variable. Evaluations and exports use the averages. Default: false."`
	EMAMomentum  *float64 `json:"ema_momentum,omitempty" decl:"null,min=0,max=1" doc:"With use_ema: the share of the average that each step keeps. Default: 0.99."`
	EMAOverwrite *int64   `json:"ema_overwrite_frequency,omitempty" decl:"null,min=1" doc:"With use_ema: the averages replace the variables in every step whose number is a multiple of this. Default: never."`
	Accumulation *int64   `json:"gradient_accumulation_steps,omitempty" decl:"null,min=2" doc:"Average the gradients of this many steps for one update of the variables."`
	LossScale    *float64 `json:"loss_scale_factor,omitempty" decl:"null,above=0" doc:"The loss is multiplied by this before its derivatives are computed, and the gradients are divided by it."`

	DynamicScale *LossScaleConfig `json:"loss_scale,omitempty" decl:"null" doc:"A factor of the loss that finds itself, as Keras's LossScaleOptimizer: for models that compute in float16."`
}

// LossScaleConfig is a dynamic loss scale.
type LossScaleConfig struct {
	decl.Object
	InitialScale       float64 `json:"initial_scale" decl:"default=32768,above=0" doc:"The first factor. It is halved, and the step skipped, when a gradient is not finite."`
	DynamicGrowthSteps int64   `json:"dynamic_growth_steps" decl:"default=2000,min=1,limit=1000000000" doc:"Steps with finite gradients after which the factor is doubled."`
}

// set sets a value that is not given.
func set[T any](p **T, v T) {
	if *p == nil {
		*p = &v
	}
}

// value returns what p points to, or zero.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
