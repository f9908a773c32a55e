package spec

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"

	"millrace"
	"millrace/estimator/optimizer"
	"millrace/internal/base/jsonpos"
)

// everyRule are the keys that all optimizers use.
var everyRule = []string{
	"type", "learning_rate", "weight_decay", "exclude_from_weight_decay", "clipnorm", "clipvalue", "global_clipnorm", "use_ema", "ema_momentum",
	"ema_overwrite_frequency", "gradient_accumulation_steps", "loss_scale_factor", "loss_scale",
}

// optimizer checks the keys of an optimizer and of its schedule.
func (c *checker) optimizer() {
	t := &c.run.Config.Model.Train
	o := t.Optimizer
	if o == nil || o.At == nil || o.Bad("type") {
		return
	}
	for k := range o.At.Members() {
		name := k.Name()
		if !slices.Contains(everyRule, name) && !slices.Contains(rules[o.Type].keys, name) && known(name) {
			c.report.Report(k, "%q does not use it", o.Type)
		}
	}
	c.one(o, "clipnorm", "global_clipnorm", "clipvalue")
	c.one(o, "loss_scale", "loss_scale_factor")
	if t.At != nil && t.Has("clip_norm") && t.ClipNorm > 0 {
		for _, key := range []string{"clipnorm", "global_clipnorm", "clipvalue"} {
			if given(o, key) {
				c.report.Report(o.Key(key), "clip_norm, beside the optimizer, limits the gradients already; leave out one of the two")
			}
		}
	}
	for _, key := range []string{"ema_momentum", "ema_overwrite_frequency"} {
		if given(o, key) && (o.UseEMA == nil || !*o.UseEMA) && !o.Bad("use_ema") {
			c.report.Warn(o.Key(key), "it has no effect without use_ema")
		}
	}
	if len(o.Exclude) > 0 && !o.Bad("exclude_from_weight_decay") {
		c.expressions(o)
	}
	if o.LearningRate.B != nil && !o.Bad("learning_rate") {
		c.schedule(o.LearningRate.B)
	}
	o.fill()
}

// given reports whether a key has a value.
func given(o *OptimizerConfig, key string) bool {
	return o.Has(key) && o.Key(key).Kind() != jsonpos.Null
}

// one reports all but the first of several mutually exclusive keys.
func (c *checker) one(o *OptimizerConfig, keys ...string) {
	first := ""
	for _, key := range keys {
		switch {
		case !given(o, key):
		case first == "":
			first = key
		default:
			c.report.Report(o.Key(key), "%q is given too; only one of them is used", first)
		}
	}
}

// expressions reports invalid regular expressions.
func (c *checker) expressions(o *OptimizerConfig) {
	for i, pattern := range o.Exclude {
		if _, err := regexp.Compile(pattern); err != nil {
			c.report.Report(o.Key("exclude_from_weight_decay").Elem(i), "not a regular expression: %v", err)
		}
	}
}

// known reports whether a key is one of some optimizer; others are reported as
// unknown already.
func known(key string) bool {
	for _, r := range rules {
		if slices.Contains(r.keys, key) {
			return true
		}
	}
	return false
}

// fill fills in the defaults of the optimizer's type.
func (o *OptimizerConfig) fill() {
	made := rules[o.Type].make(o).common
	set(&o.WeightDecay, made.WeightDecay)
	if o.LearningRate.B == nil {
		if rate, ok := made.LearningRate.(optimizer.Constant); ok {
			set(&o.LearningRate.A, float64(rate))
		}
	}
}

// OptimizerSettings returns the settings that, together with the loss, decide how
// variables change: those of the optimizer and the related ones, as JSON by key, nil if
// the signature has its own optimizer; and separately the learning rate, or its
// schedule. The defaults are filled in.
func (c *SignatureConfig) OptimizerSettings() (settings map[string]string, rate string, err error) {
	if c.Optimizer == nil {
		return nil, "", nil
	}
	text, err := json.Marshal(c.Optimizer)
	values := map[string]json.RawMessage{}
	if err == nil {
		err = json.Unmarshal(text, &values)
	}
	if err != nil {
		return nil, "", millrace.Errorf(millrace.ErrInternal, "optimizer: %w", err)
	}
	settings = map[string]string{"clip_norm": strconv.FormatFloat(c.ClipNorm, 'g', -1, 64), "l2": strconv.FormatFloat(c.L2, 'g', -1, 64)}
	for key, value := range values {
		if key == "learning_rate" {
			rate = string(value)
		} else {
			settings[key] = string(value)
		}
	}
	return settings, rate, nil
}

// optimizer returns the optimizer of a config whose defaults are filled in. A nil
// plateau leaves the learning rate to its schedule.
func (o *OptimizerConfig) optimizer(plateau *PlateauConfig) optimizer.Optimizer {
	r := rules[o.Type].make(o)
	c := r.common
	c.LearningRate = o.rate()
	if plateau != nil {
		c.LearningRate = &optimizer.ReduceLROnPlateau{InitialLearningRate: *o.LearningRate.A, Factor: plateau.Factor, MinLR: plateau.MinLR}
	}
	c.WeightDecay, c.ExcludeFromWeightDecay = *o.WeightDecay, o.Exclude
	c.ClipNorm, c.ClipValue, c.GlobalClipNorm = value(o.ClipNorm), value(o.ClipValue), value(o.GlobalClip)
	c.UseEMA, c.EMAMomentum, c.EMAOverwriteFrequency = value(o.UseEMA), value(o.EMAMomentum), value(o.EMAOverwrite)
	c.GradientAccumulationSteps, c.LossScaleFactor = value(o.Accumulation), value(o.LossScale)
	if s := o.DynamicScale; s != nil {
		c.LossScale = &optimizer.LossScale{InitialScale: s.InitialScale, DynamicGrowthSteps: s.DynamicGrowthSteps}
	}
	return r.Optimizer
}
