package target

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// check is an assertion about a batch.
type check struct {
	numbers int                                   // how many numbers it shows when it fails
	explain func(numbers []int64) *millrace.Error // makes an error of them
}

// Assert adds an assertion about a batch and returns a scope whose operations
// run only if it holds. The error of a failed assertion carries the check's
// number, by which [Checks.Failed] finds the message.
func (t *Target) Assert(s *graph.Scope, holds tfbridge.Output, numbers []tfbridge.Output, explain func([]int64) *millrace.Error) *graph.Scope {
	mark := s.Const(tfbridge.CheckMark(len(t.checks)))
	t.checks = append(t.checks, check{len(numbers), explain})
	data := append([]tfbridge.Output{mark}, numbers...)
	return s.WithControlDependencies(graph.Assert(s, holds, data, nil))
}

// Checks are the assertions of a graph.
type Checks struct {
	loader string // path of the config
	list   []check
}

// Share makes t fail with the assertions of another target, whose operations are in functions
// of t's graph. t has none itself.
func (t *Target) Share(inner *Target) { t.checks = inner.checks }

// Checks returns the assertions that were added, for errors about a config.
func (t *Target) Checks(loader string) Checks { return Checks{loader, t.checks} }

// Failed explains a failed assertion about a batch; nil if the failure has another cause.
func (c Checks) Failed(failed *tfbridge.Error) error {
	number, values, ok := failed.Check()
	if !ok || number >= len(c.list) || len(values) != c.list[number].numbers {
		return nil
	}
	e := c.list[number].explain(values)
	e.Loader, e.Code = c.loader, int(failed.Code)
	return e
}
