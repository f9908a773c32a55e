package estimator

import (
	"context"

	"millrace"
	"millrace/estimator/training"
)

// Evaluate runs a signature over the data of a source and computes metrics over
// all batches. A last batch that is smaller counts by its rows. It changes no
// variable: a signature that does is refused.
func Evaluate(ctx context.Context, m *Model, src Source, o *EvaluateOptions) (*Evaluation, error) {
	e, err := NewEvaluator(ctx, m, src, o)
	if err != nil {
		return nil, err
	}
	return e.Run(ctx)
}

// NewEvaluator joins the signature to the source. The evaluator lives as long as
// the model.
func NewEvaluator(ctx context.Context, m *Model, src Source, o *EvaluateOptions) (*Evaluator, error) {
	if o == nil {
		o = &EvaluateOptions{}
	}
	signature, err := m.Signature(o.Signature)
	if err != nil {
		return nil, err
	}
	return training.NewEvaluator(signature, o, func(keep []string) (*training.Joined, error) {
		p, err := m.Join(ctx, src, &JoinOptions{Signature: o.Signature, Keep: keep, evaluated: o.Objective})
		if err != nil {
			return nil, err
		}
		if p.changes {
			e := millrace.Errorf(millrace.ErrModel, "the signature changes variables, so it cannot evaluate them")
			e.File, e.Signature = m.dir, signature.Name
			return nil, e
		}
		joined := p.joined()
		return &joined, nil
	})
}
