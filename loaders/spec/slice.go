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
