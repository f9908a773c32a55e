package estimator

import (
	"context"

	"millrace"
	"millrace/dtype"
	"millrace/estimator/checkpoint"
	"millrace/estimator/training"
)

// Train trains a signature of a model on the data of a source: a step is one run of the
// session, which takes a batch and changes the variables. Between steps it writes
// checkpoints to the folder dir, in TensorFlow's format. If dir has a checkpoint, Train
// continues from it. The result is then bit by bit the same as without interruption, if the
// source can save its position (a loader can) and the steps are deterministic.
//
// When ctx ends, Train finishes the step, writes a checkpoint and returns a
// result with reason EndedByContext and an error of class ErrCanceled. If a step
// fails or the loss is not finite, the last checkpoint stays as it is. Errors
// about checkpoints are of class ErrCheckpoint.
//
// The caller closes the model. It may run other pipelines of the model in the
// meantime; see [Model]. One process at a time may train in dir.
func Train(ctx context.Context, m *Model, src Source, dir string, o *TrainOptions) (*TrainResult, error) {
	return TrainAndEvaluate(ctx, m, src, nil, dir, o)
}

// TrainAndEvaluate is [Train] that evaluates between steps, on the data of
// another source, as TrainOptions.Evaluate says. Both pipelines share the
// variables and nothing else: an evaluation changes no later batch of the
// training, and sees the variables of the step before it.
func TrainAndEvaluate(ctx context.Context, m *Model, train, evaluate Source, dir string, o *TrainOptions) (*TrainResult, error) {
	return training.Run(ctx, dir, o, evaluate != nil, func(o *TrainOptions) (*training.Subject, error) {
		p, err := m.Join(ctx, train, &JoinOptions{Signature: o.Signature, Objective: o.Objective, arrival: true, gradients: o.Gradients, replica: o.Replica(), servers: o.Servers(), keep: o.Cluster != nil && o.Cluster.Async() && !o.Fill})
		if err != nil {
			return nil, err
		}
		if o.Objective == nil {
			if err := p.checkTrains(o.Loss); err != nil {
				return nil, err
			}
		}
		var evaluator *Evaluator
		if evaluate != nil {
			if evaluator, err = NewEvaluator(ctx, m, evaluate, o.Evaluate); err != nil {
				return nil, err
			}
		}
		return p.subject(ctx, evaluator)
	})
}

// joined returns the pipeline in the form for package training.
func (p *Pipeline) joined() training.Joined {
	j := training.Joined{Dir: p.model.dir, Signature: p.signature, Run: p.run, Error: p.modelError}
	for _, f := range p.fetch {
		j.Outputs = append(j.Outputs, f.Name)
	}
	return j
}

// subject returns the pipeline of a training with the reader and writer of its variables.
func (p *Pipeline) subject(ctx context.Context, evaluator *Evaluator) (*training.Subject, error) {
	m := p.model
	u := &training.Subject{
		Joined: p.joined(), Saved: m.saved, Graph: m.model.Graph(), Session: m.model.Session(), Lock: &m.variables,
		Step: p.step, Slots: p.Slots(), Initialize: m.Initialize, Evaluator: evaluator,
	}
	var err error
	u.Values, err = m.valuesWith(ctx, u.Slots)
	return u, err
}

// checkTrains refuses a signature that trains nothing or has no such loss.
func (p *Pipeline) checkTrains(loss string) error {
	at := func(format string, args ...any) error {
		e := millrace.Errorf(millrace.ErrModel, format, args...)
		e.File, e.Signature = p.model.dir, p.signature.Name
		return e
	}
	if !p.changes {
		return at("the signature changes no variable, so it trains nothing")
	}
	for _, out := range p.signature.Outputs {
		if out.Name != loss {
			continue
		}
		if out.DType != dtype.Float && out.DType != dtype.Double && out.DType != dtype.Half && out.DType != dtype.Bfloat16 {
			return at("the loss %q has dtype %s, not that of a real number", loss, out.DType)
		}
		if n := out.Shape.NumDimensions(); n > 0 {
			return at("the loss %q has shape %v; it must be a scalar", loss, out.Shape)
		}
		return nil
	}
	var names []string
	for _, out := range p.signature.Outputs {
		names = append(names, out.Name)
	}
	return at("there is no output %q to be the loss; the signature has %q", loss, names)
}

// BestStep returns the step of the best checkpoint, given a later checkpoint of the
// same training.
func BestStep(c *checkpoint.Checkpoint) (step int64, ok bool) { return training.BestStep(c) }
