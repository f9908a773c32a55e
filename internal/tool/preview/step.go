package preview

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"millrace"
	"millrace/loaders"
	"millrace/loaders/spec"
	"millrace/loaders/stage"
)

// Step is a processing step of a plan, to look at by itself.
type Step struct {
	plan    *loaders.Plan
	steps   []spec.Step // the steps that the mode carries out: those on examples, or those on batches
	at, end int         // which of them the step of the config became: a model gives several tensors
	batched bool
}

// String returns the step as `millrace plan` prints it.
func (x *Step) String() string {
	e := stage.Step{Step: x.steps[x.at]}.Explain()
	return strings.TrimSpace(e.Name + " " + e.What)
}

// StepOf returns the step with an index in the processing steps of the config. A step that the
// plan's mode does not carry out, and steps of a chunked_sequence, are an error of class
// millrace.ErrConfig.
func StepOf(p *loaders.Plan, index int) (*Step, error) {
	e := millrace.Errorf(millrace.ErrConfig, "there is no such step in mode %s", p.Mode)
	e.Loader, e.Key = p.Path, "args.processing_steps"
	x := &Step{plan: single(p), steps: p.Steps}
	here := func(s spec.Step) bool { return s.Index == index }
	if slices.ContainsFunc(p.BatchedSteps, here) {
		x.steps, x.batched = p.BatchedSteps, true
	}
	x.at = slices.IndexFunc(x.steps, here)
	switch {
	case p.Chunks != nil:
		e.Msg = "steps of a chunked_sequence see whole sequences, which are cut afterwards; show the step in a config of type independent"
		return nil, e
	case x.at < 0:
		return nil, e
	}
	for x.end = x.at; x.end < len(x.steps) && here(x.steps[x.end]); {
		x.end++
	}
	return x, nil
}

// upTo returns the plan of the first steps, which gives some tensors.
func (x *Step) upTo(steps int, tensors []loaders.TensorSpec) *loaders.Plan {
	q, s := *x.plan, *x.plan.Spec
	q.Spec = &s
	s.Tensors, s.Model = tensors, nil
	if x.batched {
		s.BatchedSteps = x.steps[:steps:steps]
		return &q
	}
	s.Steps, s.Measures, s.BatchedSteps, s.Unbatched = x.steps[:steps:steps], nil, nil, nil
	return &q
}

// Pairs calls show for each of the first n examples, 0 for all, with the tensors that the step reads,
// nil if it reads none, and with the tensor that it writes. A filter and a step that drops tensors write
// none: after has the tensors that they read, and is nil for an example that a filter does not
// keep. Batches have one row, and are valid during the call.
func (x *Step) Pairs(ctx context.Context, n int64, open *loaders.Options, show func(before, after *loaders.Batch) error) error {
	step := x.steps[x.at]
	p := &pairs{run: loaders.RunOptions{Places: step.Filters()}, show: show, most: n}
	before := distinct(step.In)
	after, last := before, x.at // a step that drops tensors changes no value
	if step.Writes != "" {
		after, last = nil, x.end
		for _, made := range x.steps[x.at:x.end] {
			after = append(after, made.Result())
		}
	} else if step.Filters() {
		last = x.at + 1
	}
	second, err := loaders.OpenPlan(x.upTo(last, after), open)
	if err != nil {
		return err
	}
	defer second.Close()
	if len(before) == 0 {
		return p.alone(ctx, second)
	}
	first, err := loaders.OpenPlan(x.upTo(x.at, before), open)
	if err != nil {
		return err
	}
	defer first.Close()
	return p.both(ctx, first, second)
}

// distinct returns the tensors without those that come twice.
func distinct(list []loaders.TensorSpec) (once []loaders.TensorSpec) {
	for _, t := range list {
		if !slices.ContainsFunc(once, func(o loaders.TensorSpec) bool { return o.Name == t.Name }) {
			once = append(once, t)
		}
	}
	return once
}

// pairs reads the examples before and after a step.
type pairs struct {
	run         loaders.RunOptions
	show        func(before, after *loaders.Batch) error
	shown, most int64
}

// add shows a pair, and reports whether it is the last one.
func (p *pairs) add(before, after *loaders.Batch) (done bool, err error) {
	p.shown++
	return p.shown == p.most, p.show(before, after)
}

// alone shows the examples after a step that reads nothing.
func (p *pairs) alone(ctx context.Context, l *loaders.Loader) error {
	for after, err := range l.Run(ctx, &p.run) {
		if err != nil {
			return err
		}
		if done, err := p.add(nil, after); done || err != nil {
			return err
		}
	}
	return nil
}

// both shows the examples before and after a step. The second loader gives the examples of the first,
// without some if the step is a filter.
func (p *pairs) both(ctx context.Context, first, second *loaders.Loader) error {
	next, stop := iter.Pull2(second.Run(ctx, &p.run))
	defer stop()
	after, fault, more := next()
	for before, err := range first.Run(ctx, &p.run) {
		if err = errors.Join(err, fault); err != nil {
			return err
		}
		kept := more && slices.Equal(before.Places(), after.Places()) // without a filter both are nil
		shown := after
		if !kept {
			shown = nil
		}
		if done, err := p.add(before, shown); done || err != nil {
			return err
		}
		if kept {
			after, fault, more = next()
		}
	}
	return nil
}
