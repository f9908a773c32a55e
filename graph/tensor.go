package graph

import (
	"context"

	"millrace/tfbridge"
)

// Tensor is an output together with the scope that is built on, so that
// operations are methods:
//
//	y := graph.NewTensor(s, x).MatMul(weights).Add(bias).Relu().Output()
//
// A method returns a new Tensor and does not change its receiver. An argument y is a
// Tensor, a [tfbridge.Output], or a Go value that becomes a constant. A number of
// any Go type takes the tensor's data type, which must be able to hold it; other
// values are converted as by [Scope.Const]. The two operands broadcast as in NumPy.
// They must have the same data type; use Cast.
//
// As everywhere in this package the first failure sticks to the scope, and later
// methods do nothing. Only one goroutine at a time may use a Tensor or its scope.
type Tensor struct {
	scope  *Scope
	output tfbridge.Output
}

// NewTensor returns output as a Tensor whose methods add to s.
func NewTensor(s *Scope, output tfbridge.Output) Tensor {
	if output.Op == nil {
		s.fail("NewTensor", "the output is of no operation")
	}
	return Tensor{scope: s, output: output}
}

// Output returns the output, the zero Output after a failure.
func (t Tensor) Output() tfbridge.Output { return t.output }

// Scope returns the scope that methods add to.
func (t Tensor) Scope() *Scope { return t.scope }

// Err returns the scope's first failure.
func (t Tensor) Err() error {
	if t.scope == nil {
		return errNoScope()
	}
	return t.scope.Err()
}

// In returns the tensor with another scope of the same graph, which gives later
// operations their names and device.
func (t Tensor) In(s *Scope) Tensor { return Tensor{scope: s, output: t.output} }

// DataType returns the data type, 0 after a failure.
func (t Tensor) DataType() tfbridge.DataType { return SpecOf(t.output).DType }

// Shape returns the shape as far as TensorFlow infers it.
func (t Tensor) Shape() tfbridge.Shape { return SpecOf(t.output).Shape }

// Eval computes the tensor in a new session and returns its value. The caller closes it.
// Feeds replace values that the graph would compute, such as placeholders; nil
// feeds nothing. See [Exec].
func (t Tensor) Eval(ctx context.Context, feeds map[tfbridge.Output]*tfbridge.Tensor) (*tfbridge.Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	values, err := Exec(ctx, t.scope, []tfbridge.Output{t.output}, feeds, nil)
	if err != nil {
		return nil, err
	}
	return values[0], nil
}

// apply adds an operation on the tensor and more inputs.
func (t Tensor) apply(opType string, attrs map[string]any, more ...tfbridge.Input) Tensor {
	if t.scope == nil {
		return t
	}
	inputs := append([]tfbridge.Input{t.output}, more...)
	return Tensor{scope: t.scope, output: t.scope.Op1(opType, attrs, inputs...)}
}

// binary adds an operation on the tensor and y, which may be a Go value.
func (t Tensor) binary(opType string, y any) Tensor {
	if t.scope == nil {
		return t
	}
	return t.apply(opType, nil, t.operand(opType, y))
}

// operand returns the output that a method's argument stands for.
func (t Tensor) operand(what string, y any) tfbridge.Output {
	switch y := y.(type) {
	case tfbridge.Output:
		return y
	case Tensor:
		return y.output
	}
	if t.scope.Err() != nil {
		return tfbridge.Output{}
	}
	value, err := numberOf(t.DataType(), y)
	if err != nil {
		t.scope.UpdateErr(what, err)
		return tfbridge.Output{}
	}
	return t.scope.Const(value)
}
