package layers

import (
	"millrace/graph"
	"millrace/tfbridge"
)

// TextOptions are the options of TextVectorization. Nil and the zero value mean Keras's
// defaults.
type TextOptions struct {
	Length int64 // output_sequence_length: longer texts are cut, shorter ones padded with 0; 0: the longest of the batch

	KeepCase        bool // standardize without the lower case
	KeepPunctuation bool // standardize without stripping punctuation
}

// punctuation is what Keras strips.
const punctuation = `[!"#$%&()\*\+,-\./:;<=>?@\[\\\]^_` + "`" + `{|}~\']`

// TextVectorization is keras.layers.TextVectorization with output_mode "int": it takes
// strings of shape [batch], puts them into lower case, strips punctuation, splits them at
// white space and returns the position of each word in the vocabulary as int64 of shape
// [batch, words]. Positions count from 2; 1 is a word that the vocabulary lacks and 0 is
// padding. It compares each word with the whole vocabulary, as [StringLookup] does.
func TextVectorization(n *Net, x tfbridge.Output, vocabulary []string, o *TextOptions) tfbridge.Output {
	if o == nil {
		o = &TextOptions{}
	}
	s := n.Scope
	if spec := graph.SpecOf(x); n.Err() == nil && (spec.DType != tfbridge.String || spec.Shape.NumDimensions() != 1) {
		n.fail("text_vectorization: the input is %v %v; it must be strings of shape [batch]", spec.DType, spec.Shape)
		return tfbridge.Output{}
	}
	if !o.KeepCase {
		x = n.f("StringLower", nil, x)
	}
	if !o.KeepPunctuation {
		x = n.f("StaticRegexReplace", map[string]any{"pattern": punctuation, "rewrite": ""}, x)
	}
	parts := n.Op("StringSplitV2", nil, x, s.Const(""))
	if n.Err() != nil {
		return tfbridge.Output{}
	}
	indices, words, shape := parts[0], parts[1], parts[2]
	found := n.lookup("text_vectorization", words, len(vocabulary), n.Const(vocabulary))
	y := n.f("SparseToDense", nil, indices, shape, graph.Add(s, found, s.Const(int64(1))), s.Const(int64(0)))
	if o.Length <= 0 {
		return y
	}
	wide := n.f("Pad", nil, y, s.Const([][]int32{{0, 0}, {0, int32(o.Length)}}))
	y = graph.Subscript(s, wide, graph.From(0), graph.Until(o.Length))
	if n.Err() == nil {
		n.UpdateErr("layer", n.Graph().SetShape(y, tfbridge.MakeShape(dim(x, 0), o.Length)))
	}
	return y
}

// Masking is keras.layers.Masking of sequences of shape [batch, steps, features]: steps whose
// features all equal value are padding. It returns x with zeros at these steps, and the
// mask, bool of shape [batch, steps] and true at all other steps. Where padding stands at
// the end, the number of true elements of a row is what RecurrentOptions.Lengths takes.
func Masking(n *Net, x tfbridge.Output, value float64) (masked, mask tfbridge.Output) {
	s := n.Scope
	differs := graph.NotEqual(s, x, n.Const(float32(value)))
	mask = n.f("Any", nil, differs, s.Const(int32(-1)))
	kept := graph.Cast(s, graph.ExpandDims(s, mask, -1), tfbridge.Float)
	return graph.Mul(s, x, kept), mask
}
