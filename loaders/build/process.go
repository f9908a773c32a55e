package build

import (
	"millrace"
	"millrace/graph"
	"millrace/graph/steps"
	"millrace/loaders/build/examples"
	"millrace/loaders/build/target"
	"millrace/loaders/plan"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// Processing is what a plan does to records, in a graph.
type Processing struct {
	Tensors []steps.NamedOutput // ordered as Plan.Tensors, each with a row for each record

	checks target.Checks
}

// Process adds what a plan does to records, but for reading and batching them, to
// the graph of s: it parses, casts, slices, measures and pads. records is a vector
// of serialized records. What the plan pads to the longest of a batch has the length of the longest record.
//
// Millrace's own operations parse any bytes. A plan without them leaves parsing to
// TensorFlow, and its caller hands over only records that a [check.Checker] accepts.
//
// Windows and chunks are cut from the records of whole files, so a plan with them
// is an error of class millrace.ErrConfig.
func Process(s *graph.Scope, p *plan.Plan, records tfbridge.Output) (*Processing, error) {
	t := newTarget(s.SubScope("loader"), p.OfRequests(), nil)
	if has[stage.Window](t) || has[stage.Chunks](t) {
		e := millrace.Errorf(millrace.ErrConfig, "a %s loader cuts its examples from whole files, so it cannot process single records; use a type whose examples are records", p.Type)
		e.File, e.Key = p.Path, "type"
		return nil, e
	}
	if err := needNative(p); err != nil {
		return nil, err
	}
	t.Requests = true
	tensors := named(t, examples.New(t).Requests(t.Scope, records))
	if err := s.Err(); err != nil {
		return nil, fail(p, err)
	}
	return &Processing{Tensors: tensors, checks: t.Checks(p.Path)}, nil
}

// FailedAssertion explains a failed assertion about the records of a run; nil if the failure
// has another cause.
func (p *Processing) FailedAssertion(failed *tfbridge.Error) error { return p.checks.Failed(failed) }
