package images

import (
	"fmt"

	"millrace/diag"
	"millrace/dtype"
	"millrace/graph"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// ResizeArgs are the arguments of a step of type resize.
type ResizeArgs struct {
	decl.Object
	Size     []int64 `json:"size" decl:"required,most=2,items.min=1,items.limit=65536" doc:"The new size in pixels, [height, width]."`
	Method   string  `json:"method" decl:"default=bilinear" doc:"How pixels are interpolated: bilinear, nearest, bicubic, area, lanczos3, lanczos5, gaussian or mitchellcubic. Only nearest keeps the dtype; the others give float32."`
	Smooth   bool    `json:"antialias" decl:"default=false" doc:"Whether the image is smoothed where it is made smaller. nearest and area ignore it."`
	KeepRate bool    `json:"preserve_aspect_ratio" decl:"default=false" doc:"Whether the image keeps its ratio of height and width: it becomes as large as fits the size."`
}

// methods are the methods of tf.image.resize.
var methods = []string{"bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"}

// resampling is how images are resized.
type resampling struct {
	method string
	smooth bool
}

// method reads the name of a method.
func method(c *processing.Context, o *decl.Object, name string) bool {
	if o.Bad("method") {
		return false
	}
	for _, m := range methods {
		if m == name {
			return true
		}
	}
	c.Report(o.Key("method"), "no method named %s", decl.Quote(name)).Hint = diag.DidYouMean(name, methods)
	return false
}

// Check returns a step that is tf.image.resize.
func (a *ResizeArgs) Check(c *processing.Context) processing.Step {
	hw, ok := sizeArg(c, &a.Object, a.Size)
	if !ok || !method(c, &a.Object, a.Method) || a.Bad("antialias", "preserve_aspect_ratio") {
		return nil
	}
	t, ok := imageIn(c)
	if !ok {
		return nil
	}
	to := processing.Tensor{DType: dtype.Float, Shape: resized(t, hw)}
	if a.Method == "nearest" {
		to.DType = t.DType
	}
	what := fmt.Sprintf("to %d by %d, %s", hw[0], hw[1], a.Method)
	if a.Smooth {
		what += ", smoothed"
	}
	if a.KeepRate {
		what += ", with its ratio"
		to.Shape = []int64{-1, -1, t.Shape[2]}
	}
	r := resampling{a.Method, a.Smooth}
	pixels := func(m *processing.Images) bool {
		return r == resampling{method: "bilinear"} && !a.KeepRate && processing.Resize(m, hw)
	}
	return processing.Fold{What: what, To: to, Pixels: pixels, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		size := b.Const(hw[:])
		if a.KeepRate {
			size = keepRate(b, in[0], hw)
		}
		return b.Shaped(r.resize(b, in[0], size), to.Shape)
	}}
}

// keepRate returns the largest size of the image's ratio that fits a size.
func keepRate(b *processing.Site, x tfbridge.Output, hw [2]int32) tfbridge.Output {
	var have, scale [2]graph.Tensor
	for i := range have {
		have[i] = b.Dim(x, int64(i)).Cast(tfbridge.Float)
		scale[i] = b.Tensor(b.Const(float32(hw[i]))).Div(have[i])
	}
	least := scale[0].Minimum(scale[1])
	var size [2]tfbridge.Output
	for i := range size {
		size[i] = least.Mul(have[i]).Round().Cast(tfbridge.Int32).Output()
	}
	return b.Op1("Pack", nil, tfbridge.OutputList(size[:]))
}

// resize adds the operations of tf.image.resize of TensorFlow 2 for one image.
func (r resampling) resize(b *processing.Site, image, size tfbridge.Output) tfbridge.Output {
	x := b.Op1("ExpandDims", nil, image, b.Const(int32(0)))
	centered := map[string]any{"half_pixel_centers": true}
	var y tfbridge.Output
	switch {
	case r.method == "nearest":
		y = b.Op1("ResizeNearestNeighbor", centered, x, size)
	case r.method == "area":
		y = b.Op1("ResizeArea", nil, x, size)
	case r.method == "bilinear" && !r.smooth:
		y = b.Op1("ResizeBilinear", centered, x, size)
	case r.method == "bicubic" && !r.smooth:
		y = b.Op1("ResizeBicubic", centered, x, size)
	default:
		kernel := map[string]string{"bilinear": "triangle", "bicubic": "keyscubic"}[r.method]
		if kernel == "" {
			kernel = r.method
		}
		shape := b.Op1("Shape", map[string]any{"out_type": tfbridge.Int32}, image)
		old := b.Tensor(shape).Subscript(graph.Until(2)).Cast(tfbridge.Float)
		scale := b.Tensor(size).Cast(tfbridge.Float).Div(old).Output()
		y = b.Op1("ScaleAndTranslate", map[string]any{"kernel_type": kernel, "antialias": r.smooth}, b.Tensor(x).Cast(tfbridge.Float).Output(), size, scale, b.Const([]float32{0, 0}))
	}
	return b.Op1("Squeeze", map[string]any{"squeeze_dims": []int64{0}}, y)
}
