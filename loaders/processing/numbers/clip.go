package numbers

import (
	"fmt"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// ClipArgs are the arguments of a step of type clip.
type ClipArgs struct {
	decl.Object
	Min processing.Value `json:"min" decl:"required" doc:"The least value, of the tensor's dtype: smaller ones become this one."`
	Max processing.Value `json:"max" decl:"required" doc:"The greatest value, of the tensor's dtype: greater ones become this one."`
}

// Check reads the limits as values of the tensor's dtype.
func (a *ClipArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Numbers()
	if a.At == nil || a.Bad("min", "max") || !ok {
		return nil
	}
	low, ok := c.Value(a.Key("min"), a.Min, t.DType)
	high, also := c.Value(a.Key("max"), a.Max, t.DType)
	if !ok || !also {
		return nil
	}
	if processing.Less(high, low) {
		c.Report(a.Key("max"), "must be at least min (%v), got %v", low, high)
		return nil
	}
	return processing.Map{What: fmt.Sprintf("from %v to %v", low, high), To: t.Tensor, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Tensor(x).Minimum(b.Scalar(high, t.DType)).Maximum(b.Scalar(low, t.DType)).Output()
	}}
}
