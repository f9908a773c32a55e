package spec

// Slice is a processing step of type slice.
type Slice struct {
	Tensor  string
	Text    string // as written
	Indices []SliceIndex
	In, Out TensorSpec // before and after, as far as known
}

// SliceIndex is one index of a slice: a single position or a range.
type SliceIndex struct {
	Single     bool   // position *Begin; the dimension is removed
	Begin, End *int64 // nil = from the start, to the end; negative counts from the end
}

// Length returns how many of n positions a range takes.
func (i SliceIndex) Length(n int64) int64 {
	begin, end := int64(0), n
	if i.Begin != nil {
		begin = clampIndex(*i.Begin, n)
	}
	if i.End != nil {
		end = clampIndex(*i.End, n)
	}
	return max(0, end-begin)
}

func clampIndex(i, n int64) int64 {
	if i < 0 {
		i += n
	}
	return min(max(i, 0), n)
}
