package build

import (
	"millrace"
	"millrace/graph"
	"millrace/graph/steps"
	"millrace/loaders/plan"
	"millrace/tfbridge"
)

// Processing is what a plan does to records, in a graph.
type Processing struct {
	Tensors []steps.NamedOutput // in the order of Plan.Tensors, each with a row for each record

	plan   *plan.Plan
	checks []batchCheck // by the number in the message of a failed assertion
}

// Process adds what a plan does to records, but for reading and batching them, to
// the graph of s: it parses, casts, slices, measures and pads. records is a vector
// of serialized records. What the plan pads to the longest of a batch has the length of the longest record.
//
// Millrace's own operations parse any bytes. A plan without them leaves parsing to
// TensorFlow, and its caller hands over only records that a [check.Judge] accepts.
//
// Windows and chunks are cut from the records of whole files, so a plan with them
// is an error of class millrace.ErrConfig.
func Process(s *graph.Scope, p *plan.Plan, records tfbridge.Output) (*Processing, error) {
	if p.Window != nil || p.Chunks != nil {
		e := millrace.Errorf(millrace.ErrConfig, "a %s loader cuts its examples from whole files, so it cannot process single records; use a type whose examples are records", p.Type)
		e.File, e.Key = p.Path, "type"
		return nil, e
	}
	if err := needNative(p); err != nil {
		return nil, err
	}
	b := &builder{plan: p.OfRequests(), scope: s.SubScope("loader"), unplaced: true}
	tensors := b.named(b.processed(b.scope, records))
	if err := s.Err(); err != nil {
		return nil, b.fail(err)
	}
	return &Processing{Tensors: tensors, plan: p, checks: b.checks}, nil
}

// processed makes the plan's tensors of a vector of records.
func (b *builder) processed(s *graph.Scope, records tfbridge.Output) []tfbridge.Output {
	if b.plan.HasLists() {
		return b.assemble(s, b.parseRecords(s, records))
	}
	var stored []tfbridge.Output
	for _, c := range b.storedRows(s, records) {
		stored = append(stored, c.values)
	}
	return b.finish(s, stored, []int64{-1})
}
