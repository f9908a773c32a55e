package text

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// UpperArgs are the arguments of a step of type upper, which has none.
type UpperArgs struct{ decl.Object }

// Check returns a step that makes letters capital, a to z.
func (*UpperArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Strings()
	if !ok {
		return nil
	}
	return processing.Map{To: t.Tensor, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Op1("StringUpper", map[string]any{"encoding": ""}, x)
	}}
}
