package numbers

import (
	"fmt"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// ScaleArgs are the arguments of a step of type scale.
type ScaleArgs struct {
	decl.Object
	Factor processing.Value `json:"factor" decl:"" doc:"What each value is multiplied with, a value of the tensor's dtype. The default is 1."`
	Offset processing.Value `json:"offset" decl:"" doc:"What is added then, a value of the tensor's dtype. The default is 0."`
}

// Check reads factor and offset as values of the tensor's dtype.
func (a *ScaleArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil {
		return nil
	}
	t, ok := c.Numbers()
	if !ok || a.Bad("factor", "offset") {
		return nil
	}
	factor, fits := c.Value(a.Key("factor"), a.Factor, t.DType)
	offset, also := c.Value(a.Key("offset"), a.Offset, t.DType)
	if !fits || !also {
		return nil
	}
	if a.Factor == nil {
		factor = processing.OneValue(t.DType)
	}
	return processing.Map{What: fmt.Sprintf("times %v plus %v", factor, offset), To: t.Tensor, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Tensor(x).Mul(b.Scalar(factor, t.DType)).Add(b.Scalar(offset, t.DType)).Output()
	}}
}
