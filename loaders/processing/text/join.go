package text

import (
	"slices"

	"millrace/dtype"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// JoinArgs are the arguments of a step of type join.
type JoinArgs struct {
	decl.Object
	Separator string `json:"separator" decl:"" doc:"What is put between the strings. The default is nothing."`
}

// Check returns a step that joins the strings along the last axis of a tensor, or those at the
// same positions of several tensors.
func (a *JoinArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("separator") {
		return nil
	}
	t, ok := c.Strings()
	if !ok {
		return nil
	}
	what := "with " + decl.Quote(a.Separator)
	if at := c.Entry.Key("tensors"); at.Kind() == jsonpos.List {
		return a.several(c, what)
	}
	if !c.Ranked(t, 1, -1) {
		return nil
	}
	rank := len(t.Shape)
	return processing.Batched{What: what, To: processing.Tensor{DType: t.DType, Shape: t.Shape[:rank-1]}, Func: func(b *processing.Site, in []tfbridge.Output, lead int) tfbridge.Output {
		return b.Op1("ReduceJoin", map[string]any{"separator": a.Separator}, in[0], b.Const(int32(lead+rank-1)))
	}}
}

// several returns a step that joins several tensors.
func (a *JoinArgs) several(c *processing.Context, what string) processing.Step {
	shape := []int64{}
	for i, t := range c.In {
		at := c.Entry.Key("tensors").Elem(i)
		switch {
		case t.DType != dtype.String:
			c.Report(at, "join takes strings, and %s is %s", decl.Quote(t.Name), t.DType)
			return nil
		case len(t.Shape) == 0:
		case len(shape) == 0:
			shape = slices.Clone(t.Shape)
		default:
			joined, ok := processing.Broadcast(shape, t.Shape)
			if !ok || len(shape) != len(t.Shape) || slices.Contains(shape, 1) != slices.Contains(t.Shape, 1) {
				c.Report(at, "%s has shape %s, and a tensor before it %s: join takes tensors of one shape, and scalars", decl.Quote(t.Name), processing.FormatShape(t.Shape), processing.FormatShape(shape))
				return nil
			}
			shape = joined
		}
	}
	return processing.Batched{What: what, To: processing.Tensor{DType: dtype.String, Shape: shape}, Func: func(b *processing.Site, in []tfbridge.Output, lead int) tfbridge.Output {
		if lead > 0 { // the operation takes tensors of one shape, and scalars: a batch of scalars is none
			in = slices.Clone(in)
			for i := range in {
				if n := len(shape) - len(c.In[i].Shape); n > 0 {
					in[i] = b.Op1("BroadcastTo", nil, b.Widened(in[i], n, lead), b.InRows(shape, lead))
				}
			}
		}
		return b.Op1("StringJoin", map[string]any{"separator": a.Separator}, tfbridge.OutputList(in))
	}}
}
