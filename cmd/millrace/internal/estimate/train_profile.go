package estimate

import (
	"fmt"
	"strconv"
	"strings"

	"millrace/estimator"
)

// mostProfiled is the largest number of steps in a profile: a trace holds each
// execution of each operation.
const mostProfiled = 100

// stepsFlag is a flag whose value is a range of steps, "10:15".
type stepsFlag struct{ steps *estimator.StepRange }

// String returns the value, "" if the flag is not given.
func (f *stepsFlag) String() string {
	if f.steps == nil {
		return ""
	}
	return fmt.Sprintf("%d:%d", f.steps.First, f.steps.Last)
}

// Type names the values in messages.
func (f *stepsFlag) Type() string { return "steps" }

// Set reads a value.
func (f *stepsFlag) Set(text string) error {
	from, to, ok := strings.Cut(text, ":")
	first, firstErr := strconv.ParseInt(from, 10, 64)
	last, lastErr := strconv.ParseInt(to, 10, 64)
	switch {
	case !ok || firstErr != nil || lastErr != nil:
		return fmt.Errorf("it must be two steps, such as 10:15")
	case first < 1 || last < first:
		return fmt.Errorf("the steps must be at least 1 and in rising order")
	case last-first >= mostProfiled:
		return fmt.Errorf("at most %d steps can be traced", mostProfiled)
	}
	f.steps = &estimator.StepRange{First: first, Last: last}
	return nil
}
