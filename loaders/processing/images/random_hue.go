package images

import (
	"fmt"

	"millrace/graph/image"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// RandomHueArgs are the arguments of a step of type random_hue.
type RandomHueArgs struct {
	decl.Object
	MaxDelta float64 `json:"max_delta" decl:"required,min=0" doc:"The largest turn of the hue, at most 0.5; 1 would be a full turn."`
}

// Check returns a step that is tf.image.stateless_random_hue.
func (a *RandomHueArgs) Check(c *processing.Context) processing.Step {
	t, ok := imageIn(c, 3)
	if a.At == nil || a.Bad("max_delta") || !ok {
		return nil
	}
	if a.MaxDelta > 0.5 {
		c.Report(a.Key("max_delta"), "must be at most 0.5, got %v", a.MaxDelta)
		return nil
	}
	return processing.Fold{What: fmt.Sprintf("up to %v", a.MaxDelta), To: t.Tensor, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		return image.New(b.Scope, in[0]).RandomHue(float32(a.MaxDelta), b.Seed).Output()
	}}
}
