package text

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// SplitBytesArgs are the arguments of a step of type split_bytes, which has none.
type SplitBytesArgs struct{ decl.Object }

// Check returns a step that makes a vector of the bytes of a string.
func (*SplitBytesArgs) Check(c *processing.Context) processing.Step {
	return parts(c, "", func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Op("StringSplit", map[string]any{"skip_empty": false}, x, b.Const(""))[1]
	})
}
