package audio

import (
	"fmt"

	"millrace/graph"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// RandomGainArgs are the arguments of a step of type random_gain.
type RandomGainArgs struct {
	decl.Object
	Lower float64 `json:"lower" decl:"required,min=0" doc:"The least factor."`
	Upper float64 `json:"upper" decl:"required,min=0" doc:"The greatest factor, more than lower."`
}

// Check returns a step that multiplies all values with tf.random.stateless_uniform([], seed,
// lower, upper).
func (a *RandomGainArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Floats()
	if a.At == nil || a.Bad("lower", "upper") || !ok {
		return nil
	}
	if a.Upper <= a.Lower {
		c.Report(a.Key("upper"), "must be more than lower (%v), got %v", a.Lower, a.Upper)
		return nil
	}
	return processing.Fold{What: fmt.Sprintf("%v to %v", a.Lower, a.Upper), To: t.Tensor, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		low, high := b.Tensor(b.Const(float32(a.Lower))), b.Tensor(b.Const(float32(a.Upper)))
		drawn := b.Tensor(graph.StatelessRandomUniform(b.Scope, b.Const([]int32{}), b.Seed))
		factor := drawn.Mul(high.Sub(low)).Add(low).Cast(t.DType)
		return b.Tensor(in[0]).Mul(factor).Output()
	}}
}
