package training

import (
	"millrace"
	"millrace/estimator/optimizer"
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

// plateauState is the state of a Plateau in a checkpoint.
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
