package build

import (
	"millrace"
	"millrace/graph"
	"millrace/loaders/plan"
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

// failedAssertion explains a failed assertion of a plan's graph about a batch; nil if
// it was none.
func failedAssertion(failed *tfbridge.Error, p *plan.Plan, checks []batchCheck) error {
	number, values, ok := failed.Check()
	if !ok || number >= len(checks) || len(values) != checks[number].numbers {
		return nil
	}
	e := checks[number].explain(values)
	e.Loader, e.Code = p.Path, int(failed.Code)
	return e
}

// FailedAssertion explains a failed assertion about a batch; nil if it was none.
func (pl *Parts) FailedAssertion(failed *tfbridge.Error) error {
	return failedAssertion(failed, pl.Plan, pl.checks)
}

// FailedAssertion explains a failed assertion about the records of a run; nil if it
// was none.
func (p *Processing) FailedAssertion(failed *tfbridge.Error) error {
	return failedAssertion(failed, p.plan, p.checks)
}
