package spec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"millrace/loaders/decl"
)

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
