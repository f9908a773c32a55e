package text

import (
	"millrace/dtype"
	"millrace/graph"
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
	step := parts(c, what, dtype.String, func(b *processing.Site, x tfbridge.Output) processing.Joined {
		return split(b, b.Op("StringSplitV2", nil, x, b.Const(a.Sep)), x)
	})
	if rows, ok := step.(processing.Rows); ok {
		rows.InWords = a.splitWords
		return rows
	}
	return step
}

func (a *SplitArgs) splitWords(w *processing.Words) bool {
	if w.Split {
		return false
	}
	w.Split, w.Sep = true, a.Sep
	return true
}

// split returns the parts of strings as joined rows. sparse are the results of an operation
// that returns them as a sparse tensor: the first column of its indices are the rows.
func split(b *processing.Site, sparse []tfbridge.Output, x tfbridge.Output) processing.Joined {
	if b.Err() != nil {
		return processing.Joined{}
	}
	rows := graph.Subscript(b.Scope, sparse[0], graph.Whole(), graph.At(0))
	end := b.Tensor(b.Op1("Size", map[string]any{"out_type": tfbridge.Int64}, x)).Add(b.Const(int64(1))).Output()
	numbers := graph.Range(b.Scope, b.Const(int64(0)), end, b.Const(int64(1)))
	front := b.Const(int32(0))
	splits := b.Op1("LowerBound", map[string]any{"out_type": tfbridge.Int64}, b.Op1("ExpandDims", nil, rows, front), b.Op1("ExpandDims", nil, numbers, front))
	return processing.Joined{Values: sparse[1], Splits: b.Op1("Squeeze", map[string]any{"squeeze_dims": []int64{0}}, splits)}
}

// parts returns a step that makes a vector of each string. join makes the joined vectors of a vector
// of strings.
func parts(c *processing.Context, what string, d dtype.DataType, join func(b *processing.Site, x tfbridge.Output) processing.Joined) processing.Step {
	t, ok := c.Strings()
	if !ok || !c.Ranked(t, 0, 0) {
		return nil
	}
	one := processing.Fold{What: what, To: processing.Tensor{DType: d, Shape: []int64{-1}}, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		x := b.Op1("ExpandDims", nil, in[0], b.Const(int32(0)))
		if b.Err() != nil {
			return tfbridge.Output{}
		}
		return join(b, x).Values
	}}
	return processing.Rows{Fold: one, Join: func(b *processing.Site, x processing.Joined) processing.Joined { return join(b, x.Values) }}
}
