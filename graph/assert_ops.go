package graph

import (
	"millrace/tfbridge"
)

// AssertOptions are the options of [Assert].
type AssertOptions struct {
	Summarize int64 // how many elements of each tensor are shown; default 3, -1 all
}

// Assert adds an Assert: if cond is false when it runs, the run fails with an
// INVALID_ARGUMENT error that shows data. In the body of a function it runs whenever
// the function does. Elsewhere, use [Scope.WithControlDependencies] for the operations
// that must not run if it fails.
func Assert(s *Scope, cond tfbridge.Output, data []tfbridge.Output, o *AssertOptions) *tfbridge.Operation {
	summarize := int64(3)
	if o != nil && o.Summarize != 0 {
		summarize = o.Summarize
	}
	return s.AddOperation(tfbridge.OpSpec{
		Type:  "Assert",
		Input: []tfbridge.Input{cond, tfbridge.OutputList(data)},
		Attrs: map[string]any{"summarize": summarize},
	})
}
