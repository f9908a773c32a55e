// Package changes compares the recorded inputs of a result with the current ones:
// digests and settings by name.
package changes

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Change is an entry that has changed.
type Change struct {
	Key, Was, Is string
	Parts        []Change // the differences between the parts that the entry is the digest of; nil if unknown
}

// Text returns the change as a clause.
func (c Change) Text() string {
	if len(c.Parts) > 0 {
		var parts []string
		for _, part := range c.Parts {
			parts = append(parts, part.Text())
		}
		return fmt.Sprintf("%s differs (%s)", c.Key, strings.Join(parts, ", "))
	}
	return fmt.Sprintf("%s was %s and now is %s", c.Key, shown(c.Was), shown(c.Is))
}

// Between returns the entries that differ, in the order of their keys.
func Between(was, is map[string]string) []Change {
	all := maps.Clone(is)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, was)
	var list []Change
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if was[key] != is[key] {
			list = append(list, Change{Key: key, Was: was[key], Is: is[key]})
		}
	}
	return list
}

// digest matches a value that only a computer compares.
var digest = regexp.MustCompile(`^[0-9a-f]{41,}$`)

// shown returns a value for a message; digests are shortened.
func shown(value string) string {
	switch {
	case value == "":
		return "nothing"
	case digest.MatchString(value):
		return value[:12] + "..."
	}
	return value
}
