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

// ScheduleConfig says how the learning rate changes, with Keras's names.
type ScheduleConfig struct {
	decl.Object
	Type         string    `json:"type" decl:"required,enum=constant|exponential|cosine|cosine_restarts|inverse_time|piecewise|polynomial|warmup_cosine" doc:"The curve: ExponentialDecay, CosineDecay, CosineDecayRestarts, InverseTimeDecay, PiecewiseConstantDecay and PolynomialDecay of Keras; warmup_cosine is CosineDecay after a straight line up."`
	LearningRate *float64  `json:"learning_rate,omitempty" decl:"null,above=0" doc:"For constant: the rate."`
	Initial      *float64  `json:"initial_learning_rate,omitempty" decl:"null,min=0" doc:"The rate at the start. Default for warmup_cosine: 0."`
	DecaySteps   *int64    `json:"decay_steps,omitempty" decl:"null,min=1" doc:"For exponential and inverse_time: steps for one factor decay_rate. For cosine, warmup_cosine and polynomial: steps until the end of the curve."`
	DecayRate    *float64  `json:"decay_rate,omitempty" decl:"null,above=0" doc:"For exponential and inverse_time."`
	Staircase    *bool     `json:"staircase,omitempty" decl:"null" doc:"For exponential and inverse_time: the rate falls only every decay_steps. Default: false."`
	Alpha        *float64  `json:"alpha,omitempty" decl:"null,min=0,max=1" doc:"For the cosines: the last rate, as a part of the highest. Default: 0."`
	First        *int64    `json:"first_decay_steps,omitempty" decl:"null,min=1" doc:"For cosine_restarts: steps of the first curve."`
	TMul         *float64  `json:"t_mul,omitempty" decl:"null,min=1" doc:"For cosine_restarts: each curve is this many times as long as the one before it. Default: 2."`
	MMul         *float64  `json:"m_mul,omitempty" decl:"null,above=0" doc:"For cosine_restarts: each curve begins at this many times the rate of the one before it. Default: 1."`
	End          *float64  `json:"end_learning_rate,omitempty" decl:"null,min=0" doc:"For polynomial: the last rate. Default: 0.0001."`
	Power        *float64  `json:"power,omitempty" decl:"null,above=0" doc:"For polynomial. Default: 1."`
	Cycle        *bool     `json:"cycle,omitempty" decl:"null" doc:"For polynomial: the curve starts again after decay_steps, and is longer each time. Default: false."`
	WarmupTarget *float64  `json:"warmup_target,omitempty" decl:"null,above=0" doc:"For warmup_cosine: the highest rate."`
	WarmupSteps  *int64    `json:"warmup_steps,omitempty" decl:"null,min=1" doc:"Steps in which the rate goes up in a straight line, before the curve begins. Required for warmup_cosine."`
	WarmupFrom   *float64  `json:"warmup_from,omitempty" decl:"null,min=0" doc:"The rate at the start of warmup_steps; warmup_cosine has initial_learning_rate for it. Default: 0."`
	Boundaries   []int64   `json:"boundaries,omitempty" decl:"items.min=0" doc:"For piecewise: the last step of each value but the last one, increasing."`
	Values       []float64 `json:"values,omitempty" decl:"items.above=0" doc:"For piecewise: the rates, one more than boundaries."`
}

// PlateauConfig lowers the learning rate when a metric no longer improves.
type PlateauConfig struct {
	decl.Object
	Metric   string  `json:"metric" decl:"required,nonempty" doc:"loss, or the name of a metric of evaluate."`
	Mode     string  `json:"mode" decl:"default=auto,enum=max|min|auto" doc:"Whether more or less is better; auto as in checkpoints.best."`
	Factor   float64 `json:"factor" decl:"default=0.1,above=0,below=1" doc:"What the learning rate is multiplied by."`
	Patience int64   `json:"patience" decl:"default=10,min=1" doc:"After this many evaluations in a row that are no better than the best one."`
	MinDelta float64 `json:"min_delta" decl:"default=0.0001,min=0" doc:"By how much an evaluation must be better to count as better."`
	Cooldown int64   `json:"cooldown" decl:"default=0,min=0" doc:"Evaluations after a reduction that are not counted."`
	MinLR    float64 `json:"min_lr" decl:"default=0,min=0" doc:"The smallest learning rate."`
}
