package numbers

import (
	"fmt"

	"millrace/dtype"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// CompareArgs are the arguments of a step of type compare.
type CompareArgs struct {
	decl.Object
	Op    string           `json:"op" decl:"required,enum=eq|ne|lt|le|gt|ge" doc:"How each value is compared: eq, ne, lt, le, gt or ge."`
	Value processing.Value `json:"value" decl:"required" doc:"What it is compared with, a value of the tensor's dtype."`
}

// comparisons are TensorFlow's operations.
var comparisons = map[string]string{"eq": "Equal", "ne": "NotEqual", "lt": "Less", "le": "LessEqual", "gt": "Greater", "ge": "GreaterEqual"}

// Check reads the value as one of the tensor's dtype.
func (a *CompareArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Input()
	if a.At == nil || a.Bad("op", "value") || !ok {
		return nil
	}
	if k := processing.KindOf(t.DType); a.Op != "eq" && a.Op != "ne" && (k == processing.StringKind || k == processing.BoolKind || k == processing.ComplexKind) {
		c.Report(a.Key("op"), "%s has no order: only eq and ne compare it", t.DType)
		return nil
	}
	value, ok := c.Value(a.Key("value"), a.Value, t.DType)
	if !ok {
		return nil
	}
	return processing.Map{What: fmt.Sprintf("%s %v", a.Op, quoted(value)), To: processing.Tensor{DType: dtype.Bool, Shape: t.Shape}, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Op1(comparisons[a.Op], nil, x, b.Scalar(value, t.DType))
	}}
}

// quoted returns a value in the form of the config.
func quoted(v any) string {
	if s, ok := v.(string); ok {
		return decl.Quote(s)
	}
	return fmt.Sprint(v)
}
