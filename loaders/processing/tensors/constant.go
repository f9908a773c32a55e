package tensors

import (
	"fmt"

	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// ConstantArgs are the arguments of a step of type constant.
type ConstantArgs struct {
	decl.Object
	DType string           `json:"dtype" decl:"required" doc:"TensorFlow's name of a data type."`
	Shape []int64          `json:"shape" decl:"most=253,items.min=0,items.limit=2147483648" doc:"The shape, without the batch dimension. The default is a scalar."`
	Value processing.Value `json:"value" decl:"" doc:"The value, which must be exactly a value of the dtype. The default is 0, false or the empty string."`
}

// Check reads the value as one of the dtype.
func (a *ConstantArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("dtype", "shape", "value") {
		return nil
	}
	d, ok := c.DType(a.Key("dtype"), a.DType)
	if !ok {
		return nil
	}
	value, ok := c.Value(a.Key("value"), a.Value, d)
	if !ok {
		return nil
	}
	if n, _ := processing.Elements(a.Shape); n > processing.MaxElements {
		c.Report(a.Key("shape"), "has %d values, more than %d", n, processing.MaxElements)
		return nil
	}
	shape := processing.Int64s(a.Shape)
	return processing.Batched{What: fmt.Sprintf("%v of shape %s", value, processing.FormatShape(shape)), To: processing.Tensor{DType: d, Shape: shape}, Func: func(b *processing.Site, _ []tfbridge.Output, lead int) tfbridge.Output {
		return b.Op1("Fill", nil, b.InRows(shape, lead), b.Scalar(value, d))
	}}
}
