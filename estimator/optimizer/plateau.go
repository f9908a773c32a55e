package optimizer

import (
	"math"

	"millrace/graph"
	"millrace/tfbridge"
)

// ReduceLROnPlateau is a learning rate that the trainer lowers when a metric no longer
// improves, as keras.callbacks.ReduceLROnPlateau does. It is a slot, "learning_rate",
// and not computed from the step: Update.Plateau lowers it.
type ReduceLROnPlateau struct {
	InitialLearningRate float64
	Factor              float64 // below 1
	MinLR               float64
}

// Check checks the parameters.
func (p *ReduceLROnPlateau) Check() error {
	if err := notNegative("initial_learning_rate", p.InitialLearningRate); err != nil {
		return err
	}
	if !(p.Factor > 0 && p.Factor < 1) {
		return errorf("factor is %v; it must be more than 0 and less than 1", p.Factor)
	}
	if math.IsNaN(p.MinLR) || p.MinLR > p.InitialLearningRate {
		return errorf("min_lr is %v; it must be at most the learning rate, %v", p.MinLR, p.InitialLearningRate)
	}
	return notNegative("min_lr", p.MinLR)
}

// Rate returns the initial rate: alone, the schedule lowers nothing.
func (p *ReduceLROnPlateau) Rate(s *graph.Scope, _ tfbridge.Output) tfbridge.Output {
	return float(s, p.InitialLearningRate)
}

// Plateau lowers a learning rate.
type Plateau struct {
	Reduce *tfbridge.Operation // multiplies the rate by the factor, down to the smallest rate
	Rate   tfbridge.Output     // a float scalar: the rate, read when it is fetched alone
}

// plateau adds the learning rate as a slot and returns its value.
func (a *applier) plateau(p *ReduceLROnPlateau) tfbridge.Output {
	slot := scalarSlot(a.s, a.o.Name()+"/learning_rate", tfbridge.Float)
	slot.Initial = p.InitialLearningRate
	a.addSlots(slot)
	s := a.s.SubScope("plateau")
	lower := graph.Maximum(s, graph.Mul(s, read(s, slot.Variable), float(s, p.Factor)), float(s, p.MinLR))
	a.result.Plateau = &Plateau{Reduce: assign(s, "AssignVariableOp", slot.Handle, lower), Rate: read(s, slot.Variable)}
	return read(a.s, slot.Variable)
}
