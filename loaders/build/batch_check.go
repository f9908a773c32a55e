package build

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// batchCheck is an assertion about a batch.
type batchCheck struct {
	numbers int                                   // how many numbers it shows when it fails
	explain func(numbers []int64) *millrace.Error // makes an error of them
}

// assert adds an assertion about a batch and returns a scope whose operations
// run only if it holds. The error of a failed assertion carries the check's
// number, by which [Parts.FailedAssertion] finds what to say.
func (b *builder) assert(s *graph.Scope, holds tfbridge.Output, numbers []tfbridge.Output, explain func([]int64) *millrace.Error) *graph.Scope {
	mark := s.Const(tfbridge.CheckMark(len(b.checks)))
	b.checks = append(b.checks, batchCheck{len(numbers), explain})
	data := append([]tfbridge.Output{mark}, numbers...)
	return s.WithControlDependencies(graph.Assert(s, holds, data, nil))
}

// FailedAssertion explains a failed assertion about a batch; nil if it was none.
func (pl *Parts) FailedAssertion(failed *tfbridge.Error) error {
	number, values, ok := failed.Check()
	if !ok || number >= len(pl.checks) || len(values) != pl.checks[number].numbers {
		return nil
	}
	e := pl.checks[number].explain(values)
	e.Loader, e.Code = pl.Plan.Path, int(failed.Code)
	return e
}
