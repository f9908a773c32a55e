package text

import (
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// LowerArgs are the arguments of a step of type lower, which has none.
type LowerArgs struct{ decl.Object }

// Check returns a step that makes letters small, A to Z.
func (*LowerArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Strings()
	if !ok {
		return nil
	}
	return processing.Map{To: t.Tensor, InWords: lowerWords, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Op1("StringLower", map[string]any{"encoding": ""}, x)
	}}
}

// lowerWords adds the step. After white space is cut out it makes the same words as before that.
func lowerWords(w *processing.Words) bool {
	if w.List != nil || w.Split && w.Sep != "" {
		return false
	}
	w.Lower = true
	return true
}
