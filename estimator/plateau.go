package estimator

import (
	"millrace"
	"millrace/estimator/checkpoint"
	"millrace/estimator/optimizer"
	"millrace/tfbridge"
)

// Plateau says when a training lowers its learning rate, as Keras's ReduceLROnPlateau
// does. The objective's optimizer needs an optimizer.ReduceLROnPlateau as its schedule,
// which says by how much.
type Plateau struct {
	Stop           // after how many evaluations without improvement
	Cooldown int64 // evaluations after a reduction that do not count
}

// check refuses a plateau without a learning rate to lower.
func (p *Plateau) check(o *Objective) error {
	if p == nil {
		return nil
	}
	if o != nil && o.Optimizer != nil {
		if _, ok := o.Optimizer.Settings().LearningRate.(*optimizer.ReduceLROnPlateau); ok {
			return nil
		}
	}
	return millrace.Errorf(millrace.ErrConfig, "TrainOptions.Plateau needs an objective whose learning rate is an optimizer.ReduceLROnPlateau")
}

// plateauState is what a checkpoint keeps of a Plateau.
type plateauState struct {
	Best     *bestState `json:"best,omitempty"`
	Wait     int64      `json:"wait,omitempty"`     // evaluations without improvement
	Cooldown int64      `json:"cooldown,omitempty"` // evaluations that do not count
}

// next counts an evaluation, and reports whether the rate is to be lowered.
func (s *plateauState) next(p *Plateau, step int64, value float64) bool {
	if s.Cooldown > 0 {
		s.Cooldown--
		s.Wait = 0
	}
	switch {
	case p.beats(value, s.Best, p.MinDelta):
		s.Best, s.Wait = &bestState{Step: step, Value: value}, 0
	case s.Cooldown == 0:
		s.Wait++
	}
	return s.Wait >= max(1, p.Patience)
}

// steering changes, between steps, what an objective's update works with.
type steering struct {
	model  *Model
	update *optimizer.Update // nil: the signature changes the variables itself
}

// steer returns the steering of a pipeline.
func steer(p *Pipeline) steering {
	if p.step == nil {
		return steering{model: p.model}
	}
	return steering{model: p.model, update: p.step.Update}
}

// lower lowers the learning rate and returns it as it was and as it is.
func (s steering) lower() (before, after float32, err error) {
	if before, err = s.rate(); err == nil {
		err = s.run(s.update.Plateau.Reduce)
	}
	if err == nil {
		after, err = s.rate()
	}
	return before, after, err
}

// rate reads the learning rate.
func (s steering) rate() (float32, error) {
	out, err := s.model.model.Session().Run(nil, []tfbridge.Output{s.update.Plateau.Rate}, nil)
	if err != nil {
		return 0, err
	}
	defer out[0].Close()
	rate, _ := out[0].Value().(float32)
	return rate, nil
}

// run runs an operation that changes variables.
func (s steering) run(op *tfbridge.Operation) error {
	s.model.variables.Lock()
	defer s.model.variables.Unlock()
	_, err := s.model.model.Session().Run(nil, nil, []*tfbridge.Operation{op})
	return err
}

// averaged calls f while the moving averages of the variables, if the optimizer keeps
// them, are in the variables' place.
func (s steering) averaged(f func() error) error {
	if s.update == nil || s.update.Exchange == nil {
		return f()
	}
	if err := s.run(s.update.Exchange); err != nil {
		return err
	}
	err := f()
	if again := s.run(s.update.Exchange); err == nil {
		err = again
	}
	return err
}

// averagesOf returns the names of the slots with moving averages by the names of their
// variables in checkpoints; nil if there are none.
func averagesOf(p *Pipeline) (map[string]string, error) {
	if p.step == nil || p.step.Update.Exchange == nil {
		return nil, nil
	}
	slots := map[string]string{}
	for _, slot := range p.step.Update.Slots {
		if slot.Kind == "average" {
			slots[slot.Of] = slot.Name
		}
	}
	byNode := map[string]string{}
	for i, v := range p.step.Variables {
		byNode[v.Node] = slots[p.step.Names[i]]
	}
	variables, err := checkpoint.Variables(p.model.model.Graph(), p.model.saved.Program())
	averages := map[string]string{}
	for _, v := range variables {
		node := v.Handle.Op.Name()
		if v.Wrapped.Op != nil {
			node = v.Wrapped.Op.Name()
		}
		if slot := byNode[node]; slot != "" {
			averages[v.Name] = slot
		}
	}
	return averages, err
}
