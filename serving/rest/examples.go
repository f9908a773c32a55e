package rest

import (
	"context"

	"millrace/internal/base/servingproto"
	"millrace/loaders"
	"millrace/serving"
	"millrace/serving/budget"
	"millrace/serving/internal/inference"
	"millrace/serving/internal/message"
)

// classify answers {"results": [[[label, score], ...], ...]}.
func (c *call) classify(ctx context.Context) ([]byte, error) {
	r, v, records, err := c.examples(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	answer, err := inference.ClassifyRecords(ctx, v, r.key(), records)
	if err != nil {
		return nil, err
	}
	v.LogRequest(r.key(), message.Serialized(func() *servingproto.PredictionLog {
		spec := &servingproto.ModelSpec{Name: v.Name, SignatureName: r.key()}
		return &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_ClassifyLog{ClassifyLog: &servingproto.ClassifyLog{
			Request:  &servingproto.ClassificationRequest{ModelSpec: spec, Input: inference.Input(records)},
			Response: &servingproto.ClassificationResponse{ModelSpec: spec, Result: answer},
		}}}
	}))
	b := []byte(`{"results":[`)
	for i, example := range answer.GetClassifications() {
		b = comma(b, i)
		b = append(b, '[')
		for j, class := range example.GetClasses() {
			b = comma(b, j)
			b = append(b, '[')
			b = appendString(b, class.GetLabel())
			b = append(b, ',')
			b = appendFloat(b, float64(class.GetScore()), 32)
			b = append(b, ']')
		}
		b = append(b, ']')
	}
	return append(b, "]}\n"...), nil
}

// regress answers {"results": [value, ...]}.
func (c *call) regress(ctx context.Context) ([]byte, error) {
	r, v, records, err := c.examples(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	answer, err := inference.RegressRecords(ctx, v, r.key(), records)
	if err != nil {
		return nil, err
	}
	v.LogRequest(r.key(), message.Serialized(func() *servingproto.PredictionLog {
		spec := &servingproto.ModelSpec{Name: v.Name, SignatureName: r.key()}
		return &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_RegressLog{RegressLog: &servingproto.RegressLog{
			Request:  &servingproto.RegressionRequest{ModelSpec: spec, Input: inference.Input(records)},
			Response: &servingproto.RegressionResponse{ModelSpec: spec, Result: answer},
		}}}
	}))
	b := []byte(`{"results":[`)
	for i, r := range answer.GetRegressions() {
		b = appendFloat(comma(b, i), float64(r.GetValue()), 32)
	}
	return append(b, "]}\n"...), nil
}

// comma appends a comma before every element but the first.
func comma(b []byte, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return b
}

// examples reads the serialized Examples of a request, and acquires the version that it
// names. The caller releases the version.
func (c *call) examples(ctx context.Context) (*request, *serving.Version, []string, error) {
	text, err := c.text()
	if err != nil {
		return nil, nil, nil, err
	}
	r, err := c.scratch.request.parse(text, "context", "examples")
	if err != nil {
		return nil, nil, nil, err
	}
	if r.found.of("examples") == nil {
		return nil, nil, nil, invalid("When method is %s, key 'examples' is expected and was not found", c.does)
	}
	v, err := c.acquire(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	records, err := r.records(v.Loader(r.key()), &c.lease)
	if err != nil {
		v.Release()
		return nil, nil, nil, err
	}
	return r, v, records, nil
}

// records returns the serialized Examples of a request, in the form of a loader's
// manifest or, if there is none, of their values.
//
// Each record has the features that all share, so a short body can make large ones: the
// lease grows with each record.
func (r *request) records(plan *loaders.Plan, lease *budget.Lease) ([]string, error) {
	if err := lease.Grow(featureBytes(r.text)); err != nil {
		return nil, err
	}
	s := r.found.of("examples")
	if s.peek() != '[' {
		return nil, s.errorf("Expecting 'examples' value to be an list/array")
	}
	var shared features
	if context := r.found.of("context"); context != nil {
		var err error
		if shared, err = parseFeatures(context, plan); err != nil {
			return nil, err
		}
	}
	var records []string
	n, err := s.list(func(int) error {
		all, err := parseFeatures(s, plan)
		if err == nil {
			record := all.over(shared).marshal(plan)
			records = append(records, record)
			err = lease.Grow(recordBytes(record))
		}
		return err
	})
	if err == nil && n == 0 {
		err = s.errorf("'examples' value is an empty array")
	}
	return records, err
}
