package tensors

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/figures"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// SliceArgs are the arguments of a processing step of type slice.
type SliceArgs struct {
	decl.Object
	Slice string `json:"slice" decl:"required" doc:"A slice as in Python, of integers and ranges without steps, not counting the batch dimension: [3,:,4:,:-2,1:4]."`
}

// Slice is a processing step of type slice.
type Slice struct {
	Text    string // as written
	Indices []SliceIndex
	In, To  processing.Tensor // before and after, as far as known
}

// Explain returns the part that is taken.
func (s *Slice) Explain() string { return s.Text }

// AddToWords adds a slice that takes the first words of each text.
func (s *Slice) AddToWords(w *processing.Words) bool {
	first := s.Indices[0]
	if w.List == nil || w.Most >= 0 || len(s.Indices) > 1 || first.Single || first.Begin != nil || first.End == nil || *first.End < 0 {
		return false
	}
	w.Most = *first.End
	return true
}

// Out returns the tensor afterwards.
func (s *Slice) Out() processing.Tensor { return s.To }

// Removes reports whether the slice takes a single position of an axis.
func (s *Slice) Removes(axis int) bool { return axis < len(s.Indices) && s.Indices[axis].Single }

// First returns how many elements the slice takes from the begin of the first axis, 0 if it is another
// slice.
func (s *Slice) First() int64 {
	if len(s.Indices) != 1 || s.Indices[0].Single || s.Indices[0].End == nil {
		return 0
	}
	if b := s.Indices[0].Begin; b != nil && *b != 0 {
		return 0
	}
	return max(*s.Indices[0].End, 0)
}

// Columns marks a step that can also slice joined rows.
func (s *Slice) Columns() {}

// Build takes the slice of one example.
func (s *Slice) Build(b *processing.Site, in []tfbridge.Output) tfbridge.Output {
	return s.Batch(b.Scope, in[0], 0)
}

// Batch takes the slice of each example of a tensor that has lead dimensions before an example's own.
func (s *Slice) Batch(scope *graph.Scope, x tfbridge.Output, lead int) tfbridge.Output {
	indices := make([]graph.Index, lead, lead+len(s.Indices)) // the zero Index is a whole dimension
	for _, i := range s.Indices {
		indices = append(indices, graph.Index{Single: i.Single, Begin: i.Begin, End: i.End})
	}
	return graph.Subscript(scope, x, indices...)
}

// Shape returns the shape that the slice gives.
func (s *Slice) Shape(in []int64) ([]int64, error) {
	out := []int64{}
	for axis, n := range in {
		if axis >= len(s.Indices) {
			out = append(out, n)
			continue
		}
		index := s.Indices[axis]
		if !index.Single {
			out = append(out, index.Length(n))
			continue
		}
		if at := *index.Begin; at >= n || at < -n {
			return nil, millrace.Errorf(millrace.ErrSchema, "slice %q: index %d is out of range for dimension %d of shape %v", s.Text, at, axis, in)
		}
	}
	return out, nil
}

// Check checks a slice by itself and on the tensor.
func (a *SliceArgs) Check(c *processing.Context) processing.Step {
	if a.At == nil || a.Bad("slice") {
		return nil
	}
	at := a.Key("slice")
	indices, err := parseSlice(a.Slice)
	if err != nil {
		c.Report(at, "%s is not a slice: %v", decl.Quote(a.Slice), err)
		return nil
	}
	t, ok := c.Input()
	if !ok {
		return nil
	}
	if len(indices) > len(t.Shape) {
		c.Report(at, "the slice %s has %s, the tensor %s", decl.Quote(a.Slice), figures.Plural(int64(len(indices)), "index", "indices"), processing.Dimensions(len(t.Shape)))
		return nil
	}
	shape, err := slicedShape(t.Shape, indices)
	if err != nil {
		c.Report(at, "the slice %s: %v", decl.Quote(a.Slice), err)
		return nil
	}
	if t.Sequence && indices[0].Single {
		c.Report(at, "the slice %s takes away the time axis of the sequence %s; take a range of it", decl.Quote(a.Slice), decl.Quote(t.Name))
		return nil
	}
	out := t.Tensor
	out.Shape = shape
	return &Slice{Text: a.Slice, Indices: indices, In: t.Tensor, To: out}
}

// parseSlice parses a slice such as [3,:,4:,:-2,1:4]. Brackets are optional.
func parseSlice(text string) ([]SliceIndex, error) {
	body, err := unbracket(strings.Trim(text, " \t"))
	if err != nil {
		return nil, err
	}
	if strings.Trim(body, " \t") == "" {
		return nil, errors.New("no index")
	}
	var indices []SliceIndex
	for part := range strings.SplitSeq(body, ",") {
		index, err := parseIndex(strings.Trim(part, " \t"))
		if err != nil {
			return nil, err
		}
		indices = append(indices, index)
	}
	return indices, nil
}

// unbracket takes off both brackets or finds that there are none.
func unbracket(text string) (string, error) {
	inner, opened := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	switch {
	case opened && !closed:
		return "", errors.New("a [ without a ]")
	case closed && !opened:
		return "", errors.New("a ] without a [")
	case strings.ContainsAny(inner, "[]"):
		return "", errors.New("a bracket inside")
	}
	return inner, nil
}

func parseIndex(text string) (SliceIndex, error) {
	switch {
	case text == "":
		return SliceIndex{}, errors.New("an empty index")
	case text == "...":
		return SliceIndex{}, errors.New("there is no ellipsis here")
	case strings.EqualFold(text, "none"):
		return SliceIndex{}, errors.New("there is no None here")
	case strings.Count(text, ":") > 1:
		return SliceIndex{}, fmt.Errorf("%s has more than one colon, and there are no steps here", decl.Quote(text))
	}
	first, second, isRange := strings.Cut(text, ":")
	begin, err := parseBound(first)
	if err != nil {
		return SliceIndex{}, err
	}
	end, err := parseBound(second)
	return SliceIndex{Single: !isRange, Begin: begin, End: end}, err
}

// parseBound parses one side of a range, or an index; nothing is nil.
func parseBound(text string) (*int64, error) {
	text = strings.Trim(text, " \t")
	if text == "" {
		return nil, nil
	}
	if digits := strings.TrimPrefix(text, "-"); digits == "" || strings.Trim(digits, "0123456789") != "" {
		return nil, fmt.Errorf("%s is no integer", decl.Quote(text))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%s is too large", decl.Quote(text))
	}
	return &n, nil
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

// slicedShape returns the shape of a slice. It is an error if an index is
// outside of a dimension that is known; what is unknown stays unknown.
func slicedShape(shape []int64, indices []SliceIndex) ([]int64, error) {
	out := []int64{}
	for i, index := range indices {
		size := shape[i]
		if !index.Single {
			out = append(out, index.positions(size))
			continue
		}
		if at := *index.Begin; size >= 0 && (at >= size || at < -size) {
			return nil, fmt.Errorf("index %d is outside of dimension %d, which has size %d", at, i, size)
		}
	}
	return append(out, shape[len(indices):]...), nil
}

// positions returns how many positions of a dimension a range takes, -1 if
// that is not known. Ends beyond the dimension are cut as in Python.
func (x SliceIndex) positions(size int64) int64 {
	if size >= 0 {
		return x.Length(size)
	}
	begin, end := int64(0), int64(math.MaxInt64)
	if x.Begin != nil {
		begin = *x.Begin
	}
	if x.End != nil {
		end = *x.End
	}
	if begin >= end && (begin < 0) == (end < 0) || end == 0 {
		return 0 // whatever the size
	}
	return -1
}
