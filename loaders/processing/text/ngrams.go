package text

import (
	"fmt"

	"millrace/graph"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// NgramsArgs are the arguments of a step of type ngrams.
type NgramsArgs struct {
	decl.Object
	Width     int64  `json:"width" decl:"required,min=1,limit=65536" doc:"How many words in a row are joined."`
	Separator string `json:"separator" decl:"default= " doc:"What is put between the words."`
}

// Check returns a step that makes a vector of all runs of words of a vector.
func (a *NgramsArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Strings()
	if a.At == nil || a.Bad("width", "separator") || !ok || !c.Ranked(t, 1, 1) {
		return nil
	}
	shape := []int64{-1}
	if t.Shape[0] >= 0 {
		shape[0] = max(t.Shape[0]-a.Width+1, 0)
	}
	ngrams := func(b *processing.Site, values, splits tfbridge.Output) []tfbridge.Output {
		out := b.Op("StringNGrams", map[string]any{
			"separator": a.Separator, "ngram_widths": []int64{a.Width}, "left_pad": "", "right_pad": "", "pad_width": int64(0), "preserve_short_sequences": false,
		}, values, splits)
		if b.Err() != nil {
			return make([]tfbridge.Output, 2)
		}
		return out
	}
	one := processing.Fold{What: fmt.Sprintf("of %d, with %s", a.Width, decl.Quote(a.Separator)), To: processing.Tensor{DType: t.DType, Shape: shape}, Func: func(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
		length := b.Op1("Shape", map[string]any{"out_type": tfbridge.Int64}, in[0])
		splits := b.Op1("ConcatV2", nil, tfbridge.OutputList{b.Const([]int64{0}), length}, b.Const(int32(0)))
		return ngrams(b, in[0], splits)[0]
	}}
	return processing.Rows{Fold: one, Join: func(b *processing.Site, x processing.Joined) processing.Joined {
		if x.Splits.Op == nil {
			x = joined(b, x.Values)
		}
		out := ngrams(b, x.Values, x.Splits)
		return processing.Joined{Values: out[0], Splits: out[1]}
	}}
}

// joined joins the rows of a matrix.
func joined(b *processing.Site, x tfbridge.Output) processing.Joined {
	shape := graph.Shape(b.Scope, x)
	rows, length := b.Tensor(graph.Subscript(b.Scope, shape, graph.At(0))), graph.Subscript(b.Scope, shape, graph.At(1))
	numbers := b.Tensor(graph.Range(b.Scope, b.Const(int64(0)), rows.Add(b.Const(int64(1))).Output(), b.Const(int64(1))))
	return processing.Joined{Values: graph.Reshape(b.Scope, x, b.Const([]int64{-1})), Splits: numbers.Mul(length).Output()}
}
