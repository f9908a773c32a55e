package text

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// SplitArgs are the arguments of a step of type split.
type SplitArgs struct {
	decl.Object
	Sep string `json:"sep" decl:"" doc:"What stands between the parts. The default is any white space, and then no part is empty."`
}

// Check returns a step that makes a vector of the parts of a string.
func (a *SplitArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("sep") {
		return nil
	}
	what := "at white space"
	if a.Sep != "" {
		what = "at " + decl.Quote(a.Sep)
	}
	return parts(c, what, func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Op("StringSplitV2", nil, x, b.Const(a.Sep))[1]
	})
}

// parts returns a step that makes a vector of one string. fn makes it of a vector of one.
func parts(c *processing.Context, what string, fn func(b *processing.Site, x tfbridge.Output) tfbridge.Output) processing.Step {
	t, ok := c.Strings()
	if !ok || !c.Ranked(t, 0, 0) {
		return nil
	}
	return processing.Fold{What: what, To: processing.Tensor{DType: t.DType, Shape: []int64{-1}}, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		x := b.Op1("ExpandDims", nil, in[0], b.Const(int32(0)))
		if b.Err() != nil {
			return tfbridge.Output{}
		}
		return fn(b, x)
	}}
}
