// Package changes compares what something was made of with what it would be made of now:
// digests and settings by name.
package changes

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// Change is an entry that is another one now.
type Change struct{ Key, Was, Is string }

// Text returns the change as a clause.
func (c Change) Text() string {
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
			list = append(list, Change{key, was[key], is[key]})
		}
	}
	return list
}

// digest matches a value that only a computer compares.
var digest = regexp.MustCompile(`^[0-9a-f]{41,}$`)

// shown returns a value for a message; digests are cut.
func shown(value string) string {
	switch {
	case value == "":
		return "nothing"
	case digest.MatchString(value):
		return value[:12] + "..."
	}
	return value
}
