package text

import (
	"millrace/dtype"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// ToNumberArgs are the arguments of a step of type to_number.
type ToNumberArgs struct {
	decl.Object
	DType string `json:"dtype" decl:"default=float32" doc:"The data type of the numbers: float32, float64, int32 or int64. A string that is not one is a bad record."`
}

// Check returns a step that reads a number from each string.
func (a *ToNumberArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("dtype") {
		return nil
	}
	d, ok := c.DType(a.Key("dtype"), a.DType, dtype.Float, dtype.Double, dtype.Int32, dtype.Int64)
	t, known := c.Strings()
	if !ok || !known {
		return nil
	}
	return processing.Map{What: "to " + d.String(), May: processing.Fail, To: processing.Tensor{DType: d, Shape: t.Shape}, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Op1("StringToNumber", map[string]any{"out_type": d}, x)
	}}
}
