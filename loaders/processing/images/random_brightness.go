package images

import (
	"fmt"
	"slices"

	"millrace/graph/image"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// RandomBrightnessArgs are the arguments of a step of type random_brightness.
type RandomBrightnessArgs struct {
	decl.Object
	MaxDelta float64 `json:"max_delta" decl:"required,min=0" doc:"The largest change of each pixel, on a scale from 0 to 1."`
}

// Check returns a step that is tf.image.stateless_random_brightness.
func (a *RandomBrightnessArgs) Check(c *processing.Context) processing.Step {
	t, ok := imageIn(c)
	if a.At == nil || a.Bad("max_delta") || !ok {
		return nil
	}
	pixels := func(m *processing.Images) bool {
		const kind = "brightness"
		if !processing.Resized(m) || m.Change != "" || slices.Contains(m.Augment, kind) {
			return false
		}
		m.Augment, m.MaxDelta = append(m.Augment, kind), float32(a.MaxDelta)
		return true
	}
	return processing.Fold{What: fmt.Sprintf("up to %v", a.MaxDelta), To: t.Tensor, Pixels: pixels, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		return image.New(b.Scope, in[0]).RandomBrightness(float32(a.MaxDelta), b.Seed).Output()
	}}
}
