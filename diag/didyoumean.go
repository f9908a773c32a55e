package diag

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxNear limits the length of the names to compare, and maxKnown limits their
// number: computing a distance takes time proportional to the product of the
// lengths. TensorFlow has about 1,800 operations.
const (
	maxNear  = 64 // bytes
	maxKnown = 4096
)

// DidYouMean returns `did you mean "audio"?` for the known name that is nearest
// to name, or "" if no name is near enough for a typing mistake. A name that
// differs only in case is always near.
func DidYouMean(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// Nearest returns the known name that [DidYouMean] proposes, or "".
func Nearest(name string, known []string) string {
	if name == "" || len(name) > maxNear {
		return ""
	}
	best, bestDistance := "", allowed(name)+1
	for _, k := range known[:min(len(known), maxKnown)] {
		if k == name || len(k) > maxNear {
			continue
		}
		if strings.EqualFold(k, name) {
			return k
		}
		if abs(len(k)-len(name)) > utf8.UTFMax*bestDistance {
			continue // too different in length to be near
		}
		d := distance(strings.ToLower(name), strings.ToLower(k))
		if d < bestDistance && d < len([]rune(k)) {
			best, bestDistance = k, d
		}
	}
	return best
}

// allowed returns the maximum number of edits of a typing mistake in name: one in a
// short name, a third of the length of a longer one.
func allowed(name string) int {
	return max(1, len([]rune(name))/3)
}

func abs(n int) int { return max(n, -n) }

// distance is the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last := make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(s); i++ {
		row := make([]int, len(t)+1)
		row[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(t)]
}
