// Package variable adds variables to graphs.
package variable

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// Local is a variable of the session that holds data: TensorFlow's
// tf.compat.v1.Variable(placeholder, trainable=False, collections=[]). No optimizer
// trains it and no checkpoint holds it. The data is fed, so that the graph stays
// small. A constant is a part of the graph, which can have at most 2 GiB.
type Local struct {
	Placeholder tfbridge.Output     // the data, which a run of Initializer is fed with
	Initializer *tfbridge.Operation // assigns the data; a session runs it once, before the first read

	handle tfbridge.Output
	dtype  tfbridge.DataType
}

// NewLocal adds a variable. The shape must be fully defined. The session keeps the
// value until it is closed.
func NewLocal(s *graph.Scope, dtype tfbridge.DataType, shape tfbridge.Shape) *Local {
	v := &Local{dtype: dtype}
	if s.Err() != nil {
		return v
	}
	if !shape.IsFullySpecified() {
		s.UpdateErr("a local variable", millrace.Errorf(millrace.ErrModel, "the shape %v is not fully defined", shape))
		return v
	}
	s = s.SubScope("local_variable")
	// A session finds a variable by its shared name: two variables without one would be
	// the same.
	v.handle = s.Op1("VarHandleOp", map[string]any{"dtype": dtype, "shape": shape, "shared_name": s.Prefix() + "value"})
	v.Placeholder = s.Placeholder(dtype, shape)
	v.Initializer = s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{v.handle, v.Placeholder}})
	return v
}

// Read adds an operation that reads the variable. It fails with code
// FailedPrecondition in a session that has not run Initializer.
func (v *Local) Read(s *graph.Scope) tfbridge.Output {
	return s.Op1("ReadVariableOp", map[string]any{"dtype": v.dtype}, v.handle)
}

// InitializedValue adds an operation that runs Initializer and then reads the variable.
// Use it for operations that are initialized together with the variable, such as the
// iterator of a dataset.
func (v *Local) InitializedValue(s *graph.Scope) tfbridge.Output {
	return v.Read(s.WithControlDependencies(v.Initializer))
}
