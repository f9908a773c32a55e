package graph

import (
	"millrace/tfbridge"
)

// StridedSliceOptions are the bit masks of [StridedSlice], by TensorFlow's
// names: bit i is about element i of begin, end and strides.
type StridedSliceOptions struct {
	BeginMask      int64 // begin[i] is ignored: from the start
	EndMask        int64 // end[i] is ignored: to the end
	EllipsisMask   int64 // one bit: as many whole dimensions as there are left
	NewAxisMask    int64 // a new dimension of size 1
	ShrinkAxisMask int64 // the element at begin[i], without the dimension
}

// StridedSlice adds a StridedSlice. [Subscript] is the easier way.
func StridedSlice(s *Scope, x, begin, end, strides tfbridge.Output, o *StridedSliceOptions) tfbridge.Output {
	if o == nil {
		o = &StridedSliceOptions{}
	}
	return s.Op1("StridedSlice", map[string]any{
		"begin_mask":       o.BeginMask,
		"end_mask":         o.EndMask,
		"ellipsis_mask":    o.EllipsisMask,
		"new_axis_mask":    o.NewAxisMask,
		"shrink_axis_mask": o.ShrinkAxisMask,
	}, x, begin, end, strides)
}

// Index picks from one dimension: a range, whose ends count from the end when
// negative and clamp as in Python, or one element.
type Index struct {
	Begin, End *int64 // nil: from the start, to the end
	Single     bool   // the element at *Begin alone, without the dimension
}

// At returns the index of one element, from the end when negative.
func At(i int64) Index {
	return Index{Begin: &i, Single: true}
}

// Between returns the index of the elements from begin up to but excluding end.
func Between(begin, end int64) Index {
	return Index{Begin: &begin, End: &end}
}

// From returns the index of the elements from begin on.
func From(begin int64) Index {
	return Index{Begin: &begin}
}

// Until returns the index of the elements up to but excluding end.
func Until(end int64) Index {
	return Index{End: &end}
}

// Whole returns the index of all elements.
func Whole() Index {
	return Index{}
}

// Subscript adds a StridedSlice that does what x[at...] does in Python.
// Dimensions without an index stay whole.
func Subscript(s *Scope, x tfbridge.Output, at ...Index) tfbridge.Output {
	if len(at) == 0 {
		return x
	}
	begin, end, strides := make([]int64, len(at)), make([]int64, len(at)), make([]int64, len(at))
	var o StridedSliceOptions
	for i, index := range at {
		strides[i] = 1
		switch {
		case index.Single && index.Begin != nil:
			// End is 0 for the last element: the mask, not end, expresses that.
			begin[i], end[i] = *index.Begin, *index.Begin+1
			o.ShrinkAxisMask |= 1 << i
			continue
		case index.Single:
			s.fail("Subscript", "index %d is of a single element but says not of which", i)
			return tfbridge.Output{}
		}
		begin[i], end[i] = bound(index.Begin, &o.BeginMask, i), bound(index.End, &o.EndMask, i)
	}
	return StridedSlice(s, x, s.Const(begin), s.Const(end), s.Const(strides), &o)
}

// bound returns one end of a range, or sets its mask.
func bound(value *int64, mask *int64, i int) int64 {
	if value == nil {
		*mask |= 1 << i
		return 0
	}
	return *value
}

// Slice adds a Slice: size elements of each dimension from begin on; a size of
// -1 is the rest.
func Slice(s *Scope, x, begin, size tfbridge.Output) tfbridge.Output {
	return s.Op1("Slice", nil, x, begin, size)
}

// Rows adds a StridedSlice: x[begin:end] along the first dimension. The ends
// are scalars that do not count from the end.
func Rows(s *Scope, x, begin, end tfbridge.Output) tfbridge.Output {
	return StridedSlice(s, x, ExpandDims(s, begin, 0), ExpandDims(s, end, 0), s.Const([]int64{1}), nil)
}

// RowsFrom adds a StridedSlice: x[begin:] along the first dimension.
func RowsFrom(s *Scope, x, begin tfbridge.Output) tfbridge.Output {
	begins := ExpandDims(s, begin, 0)
	return StridedSlice(s, x, begins, s.Const([]int64{0}), s.Const([]int64{1}), &StridedSliceOptions{EndMask: 1})
}
