package build

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// batchCheck makes an error of the numbers that a failed assertion shows.
type batchCheck func(numbers []int64) *millrace.Error

// assert adds an assertion about a batch and returns a scope whose operations
// run only if it holds. TensorFlow's message carries the check's number, by
// which [Parts.FailedAssertion] finds what to say.
func (b *builder) assert(s *graph.Scope, holds tfbridge.Output, numbers []tfbridge.Output, explain batchCheck) *graph.Scope {
	b.checks = append(b.checks, explain)
	mark := s.Const(fmt.Sprintf("batch check %d", len(b.checks)-1))
	data := append([]tfbridge.Output{mark}, numbers...)
	return s.WithControlDependencies(graph.Assert(s, holds, data, nil))
}

// checkFailed is TensorFlow's message for a failed assertion about a batch.
var checkFailed = regexp.MustCompile(`assertion failed: \[batch check (\d+)\]((?: \[-?\d+\])+)`)

// FailedAssertion explains a failed assertion about a batch; nil if it was none.
func (pl *Parts) FailedAssertion(failed *tfbridge.Error) error {
	m := checkFailed.FindStringSubmatch(failed.Msg)
	if m == nil {
		return nil
	}
	i, err := strconv.Atoi(m[1])
	if err != nil || i >= len(pl.checks) {
		return nil
	}
	var numbers []int64
	for _, field := range strings.Fields(m[2]) {
		n, err := strconv.ParseInt(strings.Trim(field, "[]"), 10, 64)
		if err != nil {
			return nil
		}
		numbers = append(numbers, n)
	}
	e := pl.checks[i](numbers)
	e.Loader, e.Code = pl.Plan.Path, int(failed.Code)
	return e
}
