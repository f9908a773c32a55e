package numbers

import (
	"fmt"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// LogArgs are the arguments of a step of type log.
type LogArgs struct {
	decl.Object
	Offset processing.Value `json:"offset" decl:"" doc:"What is added to each value before its logarithm is taken, a value of the tensor's dtype. The default is 0."`
}

// Check reads the offset as a value of the tensor's dtype.
func (a *LogArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Floats()
	if a.At == nil || a.Bad("offset") || !ok {
		return nil
	}
	offset, ok := c.Value(a.Key("offset"), a.Offset, t.DType)
	if !ok {
		return nil
	}
	what := ""
	if a.Offset != nil {
		what = fmt.Sprintf("of x plus %v", offset)
	}
	return packed(what, t, func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		if what != "" {
			x = b.Tensor(x).Add(b.Scalar(offset, t.DType)).Output()
		}
		return b.Op1("Log", nil, x)
	})
}
