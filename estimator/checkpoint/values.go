package checkpoint

import (
	"context"

	"millrace"
	"millrace/dtype"
	"millrace/graph"
	"millrace/tfbridge"
)

// Values reads and sets the variables of a session. [NewValues] makes one. Its
// methods must not run beside a step that changes variables.
type Values struct {
	variables []Variable
	read      *tfbridge.Callable
	assign    *tfbridge.Callable
}

// NewValues adds operations that read and set variables to the graph of s,
// which is the session's.
func NewValues(s *graph.Scope, session *tfbridge.Session, variables []Variable) (*Values, error) {
	v := &Values{variables: variables}
	if len(variables) == 0 {
		return v, nil
	}
	var reads, feeds []tfbridge.Output
	var assigns []*tfbridge.Operation
	for _, w := range variables {
		feed := s.Placeholder(w.DType, dtype.Shape{})
		assign := "AssignVariableOp"
		if w.Handle.DataType() != tfbridge.Resource {
			assign = "Assign"
			reads = append(reads, s.Op1("DeepCopy", nil, w.Handle))
		} else {
			reads = append(reads, s.Op1("ReadVariableOp", map[string]any{"dtype": w.DType}, w.trained()))
		}
		op := s.AddOperation(tfbridge.OpSpec{Type: assign, Input: []tfbridge.Input{w.Handle, feed}})
		feeds, assigns = append(feeds, feed), append(assigns, op)
	}
	err := s.Err()
	if err == nil {
		v.read, err = session.Prepare(nil, reads, nil)
		v.read.Inline() // it only hands on what is there
	}
	if err == nil {
		v.assign, err = session.Prepare(feeds, nil, assigns)
	}
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrModel, "read and set the model's variables: %w", err)
	}
	return v, nil
}

// Specs returns names, data types and shapes of the variables.
func (v *Values) Specs() []dtype.TensorSpec {
	specs := make([]dtype.TensorSpec, len(v.variables))
	for i, w := range v.variables {
		specs[i] = w.TensorSpec
	}
	return specs
}

// Read returns the values of the variables at one moment, in the order of
// Specs. The caller closes them. They share memory with the variables, and stay
// as they are: an operation that changes a variable first copies a buffer that
// somebody else holds. So a snapshot costs no copy by itself, and the steps
// after it copy each variable once. Only variables of TensorFlow 1 are copied
// here, because their operations change a buffer whoever holds it.
func (v *Values) Read() ([]*tfbridge.Tensor, error) {
	if v.read == nil {
		return nil, nil
	}
	return v.read.Run(context.Background(), nil)
}

// Assign sets the variables to values in the order of Specs. The caller keeps
// the values.
func (v *Values) Assign(values []*tfbridge.Tensor) error {
	if v.assign == nil {
		return nil
	}
	_, err := v.assign.Run(context.Background(), values)
	return err
}
