package text

import (
	"millrace/dtype"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// SplitBytesArgs are the arguments of a step of type split_bytes, which has none.
type SplitBytesArgs struct{ decl.Object }

// Check returns a step that makes a vector of the bytes of a string.
func (*SplitBytesArgs) Check(c *processing.Context) processing.Step {
	return parts(c, "", dtype.String, func(b *processing.Site, x tfbridge.Output) processing.Joined {
		return split(b, b.Op("StringSplit", map[string]any{"skip_empty": false}, x, b.Const("")), x)
	})
}
