package numbers

import (
	"fmt"

	"millrace/dtype"
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
	pixels := func(m *processing.Images) bool {
		by, isFloat := factor.(float64)
		add, _ := offset.(float64)
		return isFloat && t.DType == dtype.Float && processing.Change(m, "scale", []float64{by}, []float64{add})
	}
	return processing.Map{What: fmt.Sprintf("times %v plus %v", factor, offset), To: t.Tensor, Pixels: pixels, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Tensor(x).Mul(b.Scalar(factor, t.DType)).Add(b.Scalar(offset, t.DType)).Output()
	}}
}
