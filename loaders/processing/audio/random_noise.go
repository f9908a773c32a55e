package audio

import (
	"fmt"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// RandomNoiseArgs are the arguments of a step of type random_noise.
type RandomNoiseArgs struct {
	decl.Object
	Stddev float64 `json:"stddev" decl:"required,min=0" doc:"The standard deviation of the noise."`
}

// Check returns a step that adds tf.random.stateless_normal(shape, seed, 0, stddev) to the values.
func (a *RandomNoiseArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Floats()
	if a.At == nil || a.Bad("stddev") || !ok {
		return nil
	}
	return processing.Fold{What: fmt.Sprintf("stddev %v", a.Stddev), To: t.Tensor, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		key := b.Op("StatelessRandomGetKeyCounter", nil, b.Seed)
		if b.Err() != nil {
			return tfbridge.Output{}
		}
		shape := b.Op1("Shape", map[string]any{"out_type": tfbridge.Int32}, in[0])
		const philox = 1
		noise := b.Op1("StatelessRandomNormalV2", map[string]any{"dtype": t.DType}, shape, key[0], key[1], b.Const(int32(philox)))
		return b.Tensor(in[0]).Add(b.Tensor(noise).Mul(b.Scalar(a.Stddev, t.DType))).Output()
	}}
}
