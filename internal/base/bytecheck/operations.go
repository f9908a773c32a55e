package bytecheck

import (
	_ "embed"
	"strings"
)

//go:embed operations.txt
var operations string

// Bounds returns the rows of operations.txt: for each operation that decodes strings,
// the bound of its memory.
func Bounds() map[string]string {
	bounds := map[string]string{}
	for line := range strings.Lines(operations) {
		line, _, _ = strings.Cut(line, "#")
		if f := strings.Fields(line); len(f) == 2 {
			bounds[f[0]] = f[1]
		}
	}
	return bounds
}
