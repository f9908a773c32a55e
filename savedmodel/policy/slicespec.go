package policy

import (
	"slices"
	"strconv"
	"strings"

	"millrace/dtype"
	"millrace/savedmodel/modelfile"
)

// takesSlices are the operations whose third input says, for each tensor, which slice of
// it is meant: "4 3 0,2:-" is the first two rows of four, "" the whole tensor. TensorFlow
// parses the text as it imports the graph and again in the kernel, and a negative
// dimension ends the process.
var takesSlices = []string{"RestoreSlice", "RestoreV2", "SaveSlices", "SaveV2"}

// checkSlices refuses savers whose slices are not sound constants.
func (p *Checker) checkSlices() error {
	for _, s := range p.suspect {
		if !slices.Contains(takesSlices, s.node.Op) {
			continue
		}
		o := p.comesFrom(s.caller, s.input(2))
		if o.kind != originConst && o.kind != originNever {
			return p.r.Unsafe("operation %s (%s): its slices are not a constant", modelfile.Quote(s.node.Op), s.place())
		}
		for _, spec := range o.values {
			if !isSlice(spec) {
				return p.r.Unsafe("operation %s (%s): %s is not a slice of a tensor, such as \"4 3 0,2:-\"", modelfile.Quote(s.node.Op), s.place(), modelfile.Quote(spec))
			}
		}
	}
	return nil
}

// isSlice reports whether a text is dimensions and a slice that fits them, or "".
func isSlice(spec string) bool {
	if spec == "" {
		return true
	}
	words := strings.Split(spec, " ")
	dims := make([]int64, 0, len(words))
	for _, w := range words[:len(words)-1] {
		n, err := strconv.ParseUint(w, 10, 63)
		if err != nil {
			return false
		}
		dims = append(dims, int64(n))
	}
	if _, err := dtype.Elements(dims); err != nil || len(dims) == 0 {
		return false
	}
	extents := strings.Split(words[len(words)-1], ":")
	if len(extents) != len(dims) {
		return false
	}
	for i, e := range extents {
		if e == "-" {
			continue
		}
		from, size, ok := strings.Cut(e, ",")
		start, err1 := strconv.ParseUint(from, 10, 63)
		length, err2 := strconv.ParseUint(size, 10, 63)
		if !ok || err1 != nil || err2 != nil || length == 0 || start > uint64(dims[i]) || length > uint64(dims[i])-start {
			return false
		}
	}
	return true
}
