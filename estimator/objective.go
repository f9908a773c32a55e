package estimator

import (
	"errors"
	"slices"

	"millrace"
	"millrace/estimator/checkpoint"
	"millrace/estimator/cluster"
	"millrace/estimator/internal/varname"
	"millrace/estimator/optimizer"
	"millrace/estimator/training"
	"millrace/estimator/trainstep"
	"millrace/graph"
	"millrace/graph/gradients"
	"millrace/graph/steps"
	"millrace/tfbridge"
)

// joinObjective adds a training step whose inputs pass a gate.
func (p *Pipeline) joinObjective(s *graph.Scope, o *JoinOptions) error {
	if err := o.Objective.Check(); err != nil {
		return err
	}
	names, err := varname.Of(p.model.model.Graph(), p.model.saved)
	if err != nil {
		return err
	}
	objective := o.Objective
	t := &trainstep.Options{
		Feeds: map[string]tfbridge.Output{}, Outputs: map[string]string{}, Predictions: objective.Predictions, Loss: &objective.Loss,
		Optimizer: objective.Optimizer, ClipNorm: objective.ClipNorm, L2: objective.L2, Seed: objective.Seed,
		Names:  func(v gradients.Variable) []string { return names[v.Node].All(v) },
		Select: func(v gradients.Variable) bool { return names[v.Node].Selected(v, objective.Variables) },
	}
	t.Servers = o.servers
	if t.Replica = o.replica; t.Replica != nil {
		p.collective = cluster.StepKey
	}
	if err := p.gateObjective(s, objective, t); err != nil {
		return err
	}
	if err := p.objectiveOutputs(o, t); err != nil {
		return err
	}
	step := trainstep.Add(s, t)
	if step == nil {
		return p.placed(s.Err())
	}
	loss := graph.Identity(s.WithControlDependencies(step.Op), step.Loss)
	p.fetch = append(p.fetch, steps.NamedOutput{Name: LossOutput, Output: loss}, steps.NamedOutput{Name: LearningRateOutput, Output: step.Update.LearningRate})
	if len(objective.More) > 0 {
		for i, term := range objective.Terms(t.Predictions) {
			p.fetch = append(p.fetch, steps.NamedOutput{Name: term.Predictions + "_" + LossOutput, Output: step.Losses[i]})
		}
	}
	if step.WorkerSeconds.Op != nil {
		p.fetch = append(p.fetch, steps.NamedOutput{Name: training.WorkerSecondsName, Output: step.WorkerSeconds})
	}
	if step.Updates.Op != nil {
		p.fetch = append(p.fetch, steps.NamedOutput{Name: training.UpdatesName, Output: step.Updates}, steps.NamedOutput{Name: training.StopName, Output: step.Stop})
	}
	for _, name := range o.Outputs {
		p.fetch = append(p.fetch, steps.NamedOutput{Name: name, Output: step.Outputs[name]})
	}
	p.changes, p.step = true, step
	if err := s.Err(); err != nil {
		return graph.ModelError(p.model.dir, p.signature.Name, err)
	}
	if o.keep {
		return nil
	}
	_, err = p.model.model.Session().Run(nil, nil, []*tfbridge.Operation{step.Reset})
	return p.modelError(err)
}

// placed returns the error of a step of training with the model and its signature, if it has no
// place yet.
func (p *Pipeline) placed(err error) error {
	var known *millrace.Error
	if !errors.As(err, &known) || known.File != "" || known.Loader != "" {
		return graph.ModelError(p.model.dir, p.signature.Name, err)
	}
	e := millrace.Errorf(known.Class, "%w", err)
	e.File, e.Signature = p.model.dir, p.signature.Name
	return e
}

// objectiveOutputs chooses the outputs to compute: the predictions, and those that
// the options name.
func (p *Pipeline) objectiveOutputs(o *JoinOptions, t *trainstep.Options) error {
	if t.Predictions == "" && len(p.signature.Outputs) == 1 {
		t.Predictions = p.signature.Outputs[0].Name
	}
	var names []string
	for _, out := range p.signature.Outputs {
		names = append(names, out.Name)
		named := slices.Contains(o.Outputs, out.Name)
		if named && (out.Name == LossOutput || out.Name == LearningRateOutput) {
			return p.misfit(out.Name, "has the name of an output of training")
		}
		isMore := slices.ContainsFunc(o.Objective.More, func(t Term) bool { return t.Predictions == out.Name })
		if named || isMore || out.Name == t.Predictions {
			t.Outputs[out.Name] = out.Node
		}
	}
	if t.Outputs[t.Predictions] == "" {
		return p.misfit(t.Predictions, "is no output of the signature to be the predictions; it has %q", names)
	}
	return nil
}

// gateObjective puts the inputs, labels and weights behind a gate.
func (p *Pipeline) gateObjective(s *graph.Scope, o *Objective, t *trainstep.Options) error {
	tensors, err := p.inputs()
	if err != nil {
		return err
	}
	at := map[string]int{} // tensors behind the inputs, by name
	for _, name := range o.Tensors() {
		found, ok := p.input.Tensor(name)
		if !ok {
			return millrace.Errorf(millrace.ErrConfig, "the loss needs the tensor %q, which the source does not have", name)
		}
		at[name] = len(tensors)
		tensors = append(tensors, found)
	}
	p.gate = steps.NewGate(s, tensors)
	if err := s.Err(); err != nil {
		return graph.ModelError(p.model.dir, p.signature.Name, err)
	}
	for i, in := range p.signature.Inputs {
		t.Feeds[in.Node] = p.gate.Tensors[i].Output
	}
	gated := func(name string) tfbridge.Output {
		if i, ok := at[name]; ok {
			return p.gate.Tensors[i].Output
		}
		return tfbridge.Output{}
	}
	t.Labels, t.Weights, t.Weight = gated(o.Labels), gated(o.Weights), o.Weight
	for i := range o.More {
		m := &o.More[i]
		t.More = append(t.More, trainstep.Term{Loss: &m.Loss, Predictions: m.Predictions, Labels: gated(m.Labels), Weights: gated(m.Weights), Weight: m.Weight})
	}
	return nil
}

// addLoss adds the losses of an objective to a pipeline that only evaluates, unless
// the signature has an output of that name. O may be nil.
func (p *Pipeline) addLoss(s *graph.Scope, o *Objective) error {
	named := func(name string) int {
		return slices.IndexFunc(p.fetch, func(n steps.NamedOutput) bool { return n.Name == name })
	}
	if o == nil || named(LossOutput) >= 0 {
		return nil
	}
	predictions := o.Predictions
	if predictions == "" && len(p.signature.Outputs) == 1 {
		predictions = p.signature.Outputs[0].Name
	}
	var terms []trainstep.Term
	outputs := map[string]tfbridge.Output{}
	for _, term := range o.Terms(predictions) {
		at := named(term.Predictions)
		labels, labelled := p.input.Tensor(term.Labels)
		weights, weighted := p.input.Tensor(term.Weights)
		if at < 0 || term.NeedsLabels() && !labelled || term.Weights != "" && !weighted {
			return nil // another signature evaluates, or there are no labels: no loss to compute
		}
		terms = append(terms, trainstep.Term{
			Loss: &term.Loss, Predictions: term.Predictions, Labels: labels.Output, Weights: weights.Output, Weight: term.Weight,
		})
		outputs[term.Predictions] = p.fetch[at].Output
	}
	loss, _, err := trainstep.Sum(s.SubScope("loss"), terms, outputs)
	if err != nil {
		return graph.ModelError(p.model.dir, p.signature.Name, err)
	}
	p.fetch = append(p.fetch, steps.NamedOutput{Name: LossOutput, Output: loss})
	return nil
}

// addGradients makes a step yield the gradients, too.
func (p *Pipeline) addGradients() error {
	if p.step == nil {
		return nil
	}
	names, err := varname.Of(p.model.model.Graph(), p.model.saved)
	if err != nil {
		return err
	}
	for i, v := range p.step.Variables {
		p.fetch = append(p.fetch, steps.NamedOutput{Name: training.GradientsPrefix + names[v.Node].Unique(v), Output: p.step.Gradients[i]})
	}
	return nil
}

// Slots returns the optimizer's variables by their names in checkpoints: the number of
// updates, "adam/iteration", and the slots, "adam/dense_kernel_momentum". A pipeline
// without an [Objective] has none.
func (p *Pipeline) Slots() []checkpoint.Variable {
	if p.step == nil {
		return nil
	}
	all := []optimizer.Variable{p.step.Count}
	if p.step.Drawn.Handle.Op != nil {
		all = append(all, p.step.Drawn)
	}
	for _, slot := range p.step.Update.Slots {
		all = append(all, slot.Variable)
	}
	var slots []checkpoint.Variable
	for _, v := range all {
		s := checkpoint.Variable{Handle: v.Handle}
		s.Name, s.DType, s.Shape = v.Name, v.DType, v.Shape
		slots = append(slots, s)
	}
	return slots
}
