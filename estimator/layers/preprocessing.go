package layers

import (
	"slices"

	"millrace/graph"
	"millrace/tfbridge"
)

// Rescaling is keras.layers.Rescaling: x * scale + offset.
func Rescaling(n *Net, x tfbridge.Output, scale, offset float64) tfbridge.Output {
	x = graph.Cast(n.Scope, x, tfbridge.Float)
	return graph.Add(n.Scope, graph.Mul(n.Scope, x, n.Const(float32(scale))), n.Const(float32(offset)))
}

// Discretization is keras.layers.Discretization: the number of the bin that each element
// lies in, an int64. Boundaries increase; an element that equals one is in the bin above.
func Discretization(n *Net, x tfbridge.Output, boundaries []float32) tfbridge.Output {
	if len(boundaries) == 0 || !slices.IsSorted(boundaries) {
		n.fail("discretization: the boundaries are %v; they must increase", boundaries)
		return tfbridge.Output{}
	}
	bins := n.f("Bucketize", map[string]any{"boundaries": boundaries}, x)
	return graph.Cast(n.Scope, bins, tfbridge.Int64)
}

// Hashing is keras.layers.Hashing without a salt: the hash of strings, or of integers as
// text, below a number of bins. It is an int64.
func Hashing(n *Net, x tfbridge.Output, bins int64) tfbridge.Output {
	if bins < 1 {
		n.fail("hashing: %d bins; there must be at least one", bins)
		return tfbridge.Output{}
	}
	if n.Err() == nil && x.DataType() != tfbridge.String {
		x = n.f("AsString", nil, x)
	}
	return n.f("StringToHashBucketFast", map[string]any{"num_buckets": bins}, x)
}

// Encoding says how CategoryEncoding represents categories.
type Encoding string

// The encodings, as in Keras.
const (
	MultiHot Encoding = ""        // one for each category that is there
	OneHot   Encoding = "one_hot" // a vector for each category
	Count    Encoding = "count"   // how often each category is there
)

// CategoryEncoding is keras.layers.CategoryEncoding of integers below tokens: of shape
// [batch] or [batch, categories].
func CategoryEncoding(n *Net, x tfbridge.Output, tokens int64, encoding Encoding) tfbridge.Output {
	s := n.Scope
	hot := n.f("OneHot", nil, graph.Cast(s, x, tfbridge.Int64), s.Const(int32(tokens)), s.Const(float32(1)), s.Const(float32(0)))
	rank := graph.SpecOf(x).Shape.NumDimensions()
	if encoding == OneHot || n.Err() != nil || rank < 2 {
		return hot
	}
	switch encoding {
	case MultiHot:
		return graph.Max(s, hot, s.Const([]int32{-2}))
	case Count:
		return graph.Sum(s, hot, s.Const([]int32{-2}))
	}
	n.fail("category_encoding: there is no encoding %q", encoding)
	return tfbridge.Output{}
}

// IntegerLookup is keras.layers.IntegerLookup of a small vocabulary: the position of each
// integer in it, counted from 1; 0 for those that it lacks.
func IntegerLookup(n *Net, x tfbridge.Output, vocabulary []int64) tfbridge.Output {
	return n.lookup("integer_lookup", graph.Cast(n.Scope, x, tfbridge.Int64), len(vocabulary), n.Const(vocabulary))
}

// StringLookup is keras.layers.StringLookup of a small vocabulary: the position of each
// string in it, counted from 1; 0 for those that it lacks. It compares each string with
// the whole vocabulary, so for a large one use a lookup.Table in the input pipeline.
func StringLookup(n *Net, x tfbridge.Output, vocabulary []string) tfbridge.Output {
	return n.lookup("string_lookup", x, len(vocabulary), n.Const(vocabulary))
}

// maxVocabulary is the largest vocabulary that is compared word by word.
const maxVocabulary = 10000

// lookup returns the positions of elements in a vocabulary.
func (n *Net) lookup(kind string, x tfbridge.Output, size int, vocabulary tfbridge.Output) tfbridge.Output {
	if size == 0 || size > maxVocabulary {
		n.fail("%s: a vocabulary of %d; it must have 1 to %d entries", kind, size, maxVocabulary)
		return tfbridge.Output{}
	}
	s := n.Scope
	equal := graph.Cast(s, graph.Equal(s, graph.ExpandDims(s, x, -1), vocabulary), tfbridge.Int64)
	positions := graph.Range(s, s.Const(int64(1)), s.Const(int64(size+1)), s.Const(int64(1)))
	return graph.Max(s, graph.Mul(s, equal, positions), s.Const([]int32{-1}))
}
