package tensors

import (
	"millrace/dtype"
	"millrace/graph/image"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// CastArgs are the arguments of a step of type cast.
type CastArgs struct {
	decl.Object
	DType    string `json:"dtype" decl:"required" doc:"The data type to convert to, as TensorFlow's Cast does: fractions are cut off, and integers that do not fit wrap around."`
	Saturate bool   `json:"saturate" decl:"default=false" doc:"Whether a number that does not fit the dtype becomes the nearest one that does, as with tf.saturate_cast."`
}

// Check finds out whether the dtypes can be converted.
func (a *CastArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("dtype") {
		return nil
	}
	to, ok := c.DType(a.Key("dtype"), a.DType)
	t, known := c.Input()
	if !ok || !known {
		return nil
	}
	if (t.DType == dtype.String) != (to == dtype.String) {
		d := c.Report(a.Key("dtype"), "%s cannot become %s", t.DType, to)
		if t.DType == dtype.String {
			d.Hint = "to_number reads numbers from text"
		}
		return nil
	}
	if complex := func(d dtype.DataType) bool { return d == dtype.Complex64 || d == dtype.Complex128 }; a.Saturate && (complex(t.DType) || complex(to) || to == dtype.Bool || t.DType == dtype.Bool || to == dtype.String) {
		c.Report(a.Key("saturate"), "saturate is for integers and floating-point numbers, not to make %s of %s", to, t.DType)
		return nil
	}
	what := "to " + to.String()
	if a.Saturate {
		what += ", saturated"
	}
	saturate := a.Saturate
	return processing.Map{What: what, To: processing.Tensor{DType: to, Shape: t.Shape}, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		if saturate {
			return image.New(b.Scope, x).SaturateCast(to).Output()
		}
		return b.Tensor(x).Cast(to).Output()
	}}
}
