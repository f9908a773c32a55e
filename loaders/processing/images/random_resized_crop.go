package images

import (
	"fmt"

	"millrace/dtype"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// RandomResizedCropArgs are the arguments of a step of type random_resized_crop.
type RandomResizedCropArgs struct {
	decl.Object
	Size   []int64   `json:"size" decl:"required,most=2,items.min=1,items.limit=65536" doc:"The size of the result, [height, width]."`
	Scale  []float64 `json:"scale" decl:"most=2" doc:"The least and the greatest share of the image's area that is cut out. The default is [0.08, 1]."`
	Ratio  []float64 `json:"ratio" decl:"most=2" doc:"The least and the greatest ratio of width and height of the part. The default is [0.75, 1.3333333333333333]."`
	Method string    `json:"method" decl:"default=bilinear" doc:"How pixels are interpolated; see resize."`
}

// Check returns a step that is tf.image.stateless_sample_distorted_bounding_box of the whole
// image, with min_object_covered 0, and a resize of the part.
func (a *RandomResizedCropArgs) Check(c *processing.Context) processing.Step {
	hw, ok := sizeArg(c, &a.Object, a.Size)
	if !ok || !method(c, &a.Object, a.Method) || a.Bad("scale", "ratio") {
		return nil
	}
	scale, ok := limits(c, &a.Object, "scale", a.Scale, [2]float32{0.08, 1})
	ratio, also := limits(c, &a.Object, "ratio", a.Ratio, [2]float32{0.75, 4.0 / 3})
	if ok && scale[1] > 1 {
		c.Report(a.Key("scale").Elem(1), "must be at most 1, the whole image, got %v", scale[1])
		return nil
	}
	t, known := imageIn(c)
	if !ok || !also || !known {
		return nil
	}
	to := processing.Tensor{DType: dtype.Float, Shape: resized(t, hw)}
	if a.Method == "nearest" {
		to.DType = t.DType
	}
	r := resampling{method: a.Method}
	what := fmt.Sprintf("%d by %d, %s, scale %v to %v, ratio %v to %v", hw[0], hw[1], a.Method, scale[0], scale[1], ratio[0], ratio[1])
	cut := func(b *processing.Site, shape tfbridge.Output) (begin, size tfbridge.Output) {
		if b.Err() != nil {
			return begin, size
		}
		box := b.Op("StatelessSampleDistortedBoundingBox", map[string]any{
			"aspect_ratio_range": ratio[:], "area_range": scale[:], "max_attempts": int64(100), "use_image_if_no_bounding_boxes": true,
		}, shape, b.Const([][][]float32{{{0, 0, 1, 1}}}), b.Const(float32(0)), b.Seed)
		if b.Err() != nil {
			return begin, size
		}
		return box[0], box[1]
	}
	rest := func(b *processing.Site, part tfbridge.Output) tfbridge.Output {
		return r.resize(b, part, b.Const(hw[:]))
	}
	pixels := func(m *processing.Images) bool {
		if a.Method != "bilinear" || !processing.Resize(m, hw) {
			return false
		}
		m.Scale, m.Ratio = scale[:], ratio[:]
		return true
	}
	return processing.Part{What: what, To: to, Cut: cut, Rest: rest, Pixels: pixels}
}

// limits reads a pair of numbers.
func limits(c *processing.Context, o *decl.Object, key string, list []float64, fallback [2]float32) (pair [2]float32, ok bool) {
	switch {
	case !o.Has(key):
		return fallback, true
	case len(list) != 2 || !(list[0] > 0) || list[1] < list[0]:
		c.Report(o.Key(key), "must be two numbers above 0, the least and the greatest one")
		return pair, false
	}
	return [2]float32{float32(list[0]), float32(list[1])}, true
}
