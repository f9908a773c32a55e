package numbers

import (
	"fmt"

	"millrace/dtype"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// BucketizeArgs are the arguments of a step of type bucketize.
type BucketizeArgs struct {
	decl.Object
	Boundaries []float64 `json:"boundaries" decl:"required,nonempty,most=65536" doc:"The boundaries, ascending. A value becomes the number of boundaries that are not above it, an int32."`
}

// Check reports boundaries that do not ascend.
func (a *BucketizeArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("boundaries") {
		return nil
	}
	boundaries := make([]float32, len(a.Boundaries))
	for i, x := range a.Boundaries {
		if i > 0 && x <= a.Boundaries[i-1] {
			c.Report(a.Key("boundaries").Elem(i), "must be more than the boundary before it (%v), got %v", a.Boundaries[i-1], x)
			return nil
		}
		boundaries[i] = float32(x)
	}
	t, ok := c.OneOf("int32, int64, float32 or float64", dtype.Int32, dtype.Int64, dtype.Float, dtype.Double)
	if !ok {
		return nil
	}
	return processing.Map{What: fmt.Sprint(a.Boundaries), To: processing.Tensor{DType: dtype.Int32, Shape: t.Shape}, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Op1("Bucketize", map[string]any{"boundaries": boundaries}, x)
	}}
}
