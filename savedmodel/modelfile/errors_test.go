package modelfile

import (
	"strings"
	"testing"
)

// A long list of names is shortened.
func TestShortList(t *testing.T) {
	names := strings.Split("abcdefghij", "")
	for n, want := range map[int]string{0: "none", 1: "a", maxNames: "a, b, c, d, e, f, g, h", maxNames + 1: "a, b, c, d, e, f, g, h and 1 more", 10: "a, b, c, d, e, f, g, h and 2 more"} {
		if got := ShortList(names[:n]); got != want {
			t.Errorf("%d names: %s, want %s", n, got, want)
		}
	}
}
