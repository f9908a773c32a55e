package graph

import (
	"fmt"
	"strings"

	"millrace/tfbridge"
)

// names holds the operation names and prefixes given out in a graph, and for
// each the last number appended to it.
type names map[string]int

// unique returns name, with a number if it is given out or in the graph.
func (n names) unique(g *tfbridge.Graph, name string) string {
	candidate := name
	for {
		if _, used := n[candidate]; !used && g.Operation(candidate) == nil {
			n[candidate] = 0
			return candidate
		}
		n[name]++
		candidate = fmt.Sprintf("%s_%d", name, n[name])
	}
}

// cleanName replaces what TensorFlow does not allow in an operation's name, so
// that names can be made of whatever a user called a feature.
func cleanName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if isNameRune(r) || strings.ContainsRune("_-/\\", r) {
			return r
		}
		return '_'
	}, name)
	if clean == "" {
		return "unnamed"
	}
	if !isNameRune(rune(clean[0])) {
		clean = "n" + clean
	}
	return clean
}

// isNameRune reports whether a name may start with r.
func isNameRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.'
}
