package build

import (
	"millrace"
	"millrace/graph"
	"millrace/graph/steps"
	"millrace/loaders/build/examples"
	"millrace/loaders/plan"
	"millrace/loaders/stage"
	"millrace/tfbridge"
)

// Exported is the processing of a plan in a graph that needs TensorFlow alone: neither Go nor
// Millrace's operations.
type Exported struct {
	Records   tfbridge.Output     // a vector of serialized records
	OfRecords []steps.NamedOutput // the plan's tensors, with a row for each record

	Values   []steps.NamedOutput // the primary tensors, each with a row for each example
	OfValues []steps.NamedOutput // the plan's tensors of them
}

// Export adds to the graph of s what a plan does to examples: to serialized records, and to
// their values. The values are placeholders whose defaults come from the records, so that one
// graph serves for both, except with features of variable length. Filters keep all examples. A plan of windows or chunks is an error of class
// millrace.ErrConfig.
func Export(s *graph.Scope, p *plan.Plan) (*Exported, error) {
	q := plan.Portable(p)
	t := newTarget(s.SubScope("records"), q, nil)
	if has[stage.Window](t) || has[stage.Chunks](t) {
		e := millrace.Errorf(millrace.ErrConfig, "a %s loader cuts its examples from whole files, and a model gets single examples; use a type whose examples are records", p.Type)
		e.File, e.Key = p.Path, "type"
		return nil, e
	}
	t.Requests, t.Portable = true, true
	e := &Exported{}
	e.Records = t.Scope.Placeholder(tfbridge.String, tfbridge.MakeShape(-1))
	b := examples.New(t)
	var stored []tfbridge.Output
	if t.Parse.Lists {
		e.OfRecords = named(t, b.Requests(t.Scope, e.Records))
	} else {
		stored = b.Features(t.Scope, e.Records)
	}
	v := newTarget(s.SubScope("values"), q, nil)
	v.Requests, v.Portable = true, true
	var features []tfbridge.Output
	for i, f := range v.Parse.Features {
		shape := tfbridge.MakeShape(append([]int64{-1}, f.TensorShape()...)...)
		x := tfbridge.Output{}
		if i < len(stored) {
			x = graph.PlaceholderWithDefault(v.Scope.SubScope("feature"), stored[i], shape)
		} else {
			x = v.Scope.SubScope("feature").Placeholder(f.DType, shape)
		}
		features = append(features, x)
		for _, primary := range v.Parse.Primaries {
			if primary.From == f {
				e.Values = append(e.Values, steps.NamedOutput{Name: primary.To, Output: x})
				break // a feature with several names is given once
			}
		}
	}
	e.OfValues = named(v, examples.New(v).Values(v.Scope, features))
	if !t.Parse.Lists {
		e.OfRecords = e.OfValues
	}
	if err := s.Err(); err != nil {
		return nil, fail(p, err)
	}
	return e, nil
}
