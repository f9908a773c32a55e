package optimizer

import (
	"strings"

	"millrace/tfbridge"
)

// Optimizer is an update rule with its hyperparameters. This package has the rules of
// Keras; a rule from elsewhere is a type with these methods. It embeds [Common], which
// has Settings and makes everything in it work: schedules, weight decay, clipping,
// accumulated gradients, averages of the weights and the scale of the loss.
type Optimizer interface {
	// Name returns the optimizer's name in Keras's manner, such as "sgd" or "adam_w".
	// The names of slots begin with it.
	Name() string
	// Check returns an error if a hyperparameter is out of its range.
	Check() error
	// Settings returns the hyperparameters that all optimizers have.
	Settings() Common
	// Slots returns the slots that a variable needs.
	Slots(v Variable) []SlotKind
	// Update adds the operations that update one variable and returns the last of them.
	// [State.Subtract] and [State.Assign] return such an operation.
	Update(v *State) *tfbridge.Operation
}

// Common holds the hyperparameters of all optimizers, with the names of Keras's
// arguments.
type Common struct {
	LearningRate Schedule
	WeightDecay  float64 // each step first takes this times the learning rate of each variable from it; 0: none

	// ExcludeFromWeightDecay are regular expressions. Weight decay leaves alone the
	// variables whose name one of them matches, anywhere in it.
	ExcludeFromWeightDecay []string

	ClipNorm       float64 // the largest norm of each variable's gradient; 0: any
	ClipValue      float64 // the largest absolute value in a gradient; 0: any
	GlobalClipNorm float64 // the largest norm of all gradients together; 0: any

	// GradientAccumulationSteps is the number of steps whose gradients are averaged for
	// one update of the variables; 0 and 1: each step updates them.
	GradientAccumulationSteps int64

	// UseEMA keeps an exponential moving average of each variable, in a slot named
	// "average". Update.Exchange puts it into the variable's place and back.
	UseEMA                bool
	EMAMomentum           float64 // 0: 0.99
	EMAOverwriteFrequency int64   // steps after which the averages replace the variables; 0: never

	// LossScaleFactor multiplies the loss before its derivatives are computed, and divides
	// the gradients; 0: 1.
	LossScaleFactor float64
	// LossScale does the same by a factor that finds itself; nil: LossScaleFactor.
	LossScale *LossScale
}

// Settings returns c.
func (c Common) Settings() Common { return c }

// SlotKind is a slot that an optimizer keeps for each variable.
type SlotKind struct {
	Name    string
	Initial float64         // the initial value of all elements
	Shape   *tfbridge.Shape // nil: the variable's
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
	Of      string  // name of the model's variable; "": the slot belongs to all of them
	Initial float64 // the initial value of all elements
}

// slotName returns Keras's name of a slot.
func slotName(variable, kind string) string {
	return strings.ReplaceAll(strings.TrimSuffix(variable, ":0"), "/", "_") + "_" + kind
}
