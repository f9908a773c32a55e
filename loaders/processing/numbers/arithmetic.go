package numbers

import (
	"millrace/diag"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// ArithmeticArgs are the arguments of a step of type arithmetic.
type ArithmeticArgs struct {
	decl.Object
	Op string `json:"op" decl:"required" doc:"What is done with the two tensors: add, subtract, multiply or divide. Their shapes are broadcast as in NumPy."`
}

// operations are TensorFlow's operations.
var operations = map[string]string{"add": "AddV2", "subtract": "Sub", "multiply": "Mul", "divide": "RealDiv"}

// Check compares the two tensors.
func (a *ArithmeticArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("op") {
		return nil
	}
	names := []string{"add", "subtract", "multiply", "divide"}
	op, ok := operations[a.Op]
	if !ok {
		c.Report(a.Key("op"), "must be add, subtract, multiply or divide, got %s", decl.Quote(a.Op)).Hint = diag.DidYouMean(a.Op, names)
		return nil
	}
	at := c.Entry.Key("tensors")
	if at.Kind() == jsonpos.List && at.Len() != 2 {
		c.Report(at, "must name two tensors, got %d", at.Len())
		return nil
	}
	if !c.Known || len(c.In) != 2 {
		return nil
	}
	x, y := c.In[0], c.In[1]
	if _, ok := c.Numbers(); !ok {
		return nil
	}
	switch {
	case x.DType != y.DType:
		c.Report(at.Elem(1), "%s is %s, and %s %s: %s takes tensors of one dtype", decl.Quote(y.Name), y.DType, decl.Quote(x.Name), x.DType, c.Type).Hint = "a cast before it converts one of them"
		return nil
	case a.Op == "divide" && processing.KindOf(x.DType) != processing.FloatKind:
		c.Report(a.Key("op"), "divide takes floating-point numbers, and %s is %s", decl.Quote(x.Name), x.DType).Hint = "a cast before it converts numbers"
		return nil
	}
	shape, ok := processing.Broadcast(x.Shape, y.Shape)
	if !ok {
		c.Report(at.Elem(1), "%s has shape %s, and %s %s: they do not broadcast", decl.Quote(y.Name), processing.FormatShape(y.Shape), decl.Quote(x.Name), processing.FormatShape(x.Shape))
		return nil
	}
	return processing.Batched{What: a.Op, To: processing.Tensor{DType: x.DType, Shape: shape}, Func: func(b *processing.Site, in []tfbridge.Output, lead int) tfbridge.Output {
		if lead > 0 { // else the rows would count as an axis of the example
			in = []tfbridge.Output{b.Widened(in[0], len(shape)-len(x.Shape), lead), b.Widened(in[1], len(shape)-len(y.Shape), lead)}
		}
		return b.Op1(op, nil, in[0], in[1])
	}}
}
