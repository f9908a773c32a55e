package optimizer

import (
	"strings"

	"millrace/graph"
	"millrace/tfbridge"
)

// Optimizer is an update rule with its hyperparameters: one of *SGD, *Adam,
// *Adagrad and *RMSprop.
type Optimizer interface {
	// Name returns Keras's name of the optimizer, with which the names of slots
	// begin: "sgd", "adam", "adam_w", "adagrad" or "rm_sprop".
	Name() string
	// check returns an error if a hyperparameter is out of its range.
	check() error
	// common returns the hyperparameters that all optimizers have.
	common() Common
	// slots returns the slots of each variable.
	slots() []slotKind
	// update adds the operations that update one variable.
	update(u *updater, v *state) *tfbridge.Operation
}

// Common holds the hyperparameters of all optimizers.
type Common struct {
	LearningRate Schedule
	WeightDecay  float64 // each step first takes this times the learning rate of each variable from it; 0: none
}

func (c Common) common() Common { return c }

// slotKind is a slot that an optimizer keeps for each variable.
type slotKind struct {
	name    string
	initial float64
}

// Variable is a resource variable.
type Variable struct {
	Name   string          // without ":0"
	Handle tfbridge.Output // handle of the variable, from a VarHandleOp
	DType  tfbridge.DataType
	Shape  tfbridge.Shape // fully defined
}

// Gradient is a variable and the derivative of the loss with respect to it.
type Gradient struct {
	Variable Variable
	Value    tfbridge.Output // gradient, of the variable's data type and shape; with Indices, of its rows

	// Indices is a vector of int32 or int64 that names the row of the variable for each
	// row of Value. Other rows have no derivative. It is TensorFlow's IndexedSlices.
	Indices tfbridge.Output
}

// Slot is a variable that an optimizer keeps beside a variable of the model, such
// as a moving average of its gradient.
type Slot struct {
	Variable // Name is as in Keras: "adam/dense_kernel_momentum"

	Kind    string  // Keras's name of the slot: "momentum", "velocity", "accumulator", ...
	Of      string  // name of the model's variable
	Initial float64 // the initial value of all elements
}

// Update is an update step in a graph.
type Update struct {
	Op           *tfbridge.Operation // updates all variables, then adds 1 to the step
	Initialize   *tfbridge.Operation // sets all slots to their initial values
	Slots        []Slot              // slots in the order of the gradients
	LearningRate tfbridge.Output     // a float scalar: the rate of this step
	Norm         tfbridge.Output     // a float scalar: the global norm of the gradients, before they are clipped
}

// ApplyOptions are the options of Apply. Nil and the zero value mean the defaults.
type ApplyOptions struct {
	// ClipNorm scales all gradients together, so that their global norm is at most
	// this. It is Keras's global_clipnorm. 0 means no clipping.
	ClipNorm float64
	// After are operations to finish before any variable changes. Operations that
	// read a variable for the loss belong here: nothing else orders them.
	After []*tfbridge.Operation
}

// Apply adds operations that update variables by their gradients. step is the
// handle of a scalar int64 variable that counts the updates from 0.
//
// No variable changes before all gradients are computed. The slots are variables of
// the session, under names that begin with the scope's prefix. A failure is the
// scope's, see [graph.Scope.Err]; then Apply returns nil.
func Apply(s *graph.Scope, o Optimizer, step tfbridge.Output, gradients []Gradient, opts *ApplyOptions) *Update {
	if opts == nil {
		opts = &ApplyOptions{}
	}
	if err := check(o, gradients, opts); err != nil {
		s.UpdateErr("optimizer", err)
	}
	if s.Err() != nil {
		return nil
	}
	u := newUpdater(s.SubScope(o.Name()), o, step)
	norm := u.globalNorm(gradients)
	if opts.ClipNorm > 0 {
		gradients = u.clip(gradients, norm, opts.ClipNorm)
	}
	u.barrier(gradients, opts.After)
	result := &Update{LearningRate: u.rate, Norm: norm}
	var updates, initial []*tfbridge.Operation
	for _, g := range gradients {
		st := u.state(o, g)
		for _, slot := range st.slots {
			result.Slots = append(result.Slots, slot)
			initial = append(initial, u.initialize(slot))
		}
		updates = append(updates, u.decayed(o, st))
	}
	one := u.s.WithControlDependencies(updates...)
	result.Op = one.AddOperation(tfbridge.OpSpec{Type: "AssignAddVariableOp", Name: "update", Input: []tfbridge.Input{step, one.Const(int64(1))}})
	result.Initialize = graph.NoOp(u.s, initial...)
	if s.Err() != nil {
		return nil
	}
	return result
}

// slotName returns Keras's name of a slot.
func slotName(variable, kind string) string {
	return strings.ReplaceAll(strings.TrimSuffix(variable, ":0"), "/", "_") + "_" + kind
}
