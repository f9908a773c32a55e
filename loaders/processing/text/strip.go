package text

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// StripArgs are the arguments of a step of type strip, which has none.
type StripArgs struct{ decl.Object }

// Check returns a step that removes white space from both ends.
func (*StripArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Strings()
	if !ok {
		return nil
	}
	return processing.Map{To: t.Tensor, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Op1("StringStrip", nil, x)
	}}
}
