package train

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// local is a variable of the session that no optimizer trains and no checkpoint contains.
// Python keeps such variables in the collection local_variables.
type local struct {
	handle tfbridge.Output
	dtype  tfbridge.DataType
}

// newLocal adds a variable with an initial value. The assignment is one of the
// scope's initializers. A session finds the variable by the name of its operation.
func newLocal(s *graph.Scope, initial tfbridge.Output, shape tfbridge.Shape) local {
	v := local{dtype: graph.SpecOf(initial).DType}
	s = s.SubScope("local_variable")
	v.handle = s.Op1("VarHandleOp", map[string]any{"dtype": v.dtype, "shape": shape, "shared_name": s.Prefix() + "value"})
	s.AddInitializer(s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{v.handle, initial}}))
	return v
}

// read adds an operation that reads the variable. It fails in a session in which the
// initializers have not run.
func (v local) read(s *graph.Scope) tfbridge.Output {
	return s.Op1("ReadVariableOp", map[string]any{"dtype": v.dtype}, v.handle)
}

// MatchFilenamesOnce returns the paths of the files that match a pattern, or one of several
// patterns: a sorted vector of strings. The pattern is a string, or a vector of them, with
// the wildcards of Python's glob. The scope's initializers look the files up, once per
// session. Files that appear later are not seen.
//
// It wraps MatchingFiles.
func MatchFilenamesOnce(s *graph.Scope, pattern tfbridge.Output) tfbridge.Output {
	s = s.SubScope("matching_filenames")
	return newLocal(s, s.Op1("MatchingFiles", nil, pattern), tfbridge.MakeShape(-1)).read(s)
}

// LimitEpochs returns the value of x for numEpochs runs of a session, and then fails with
// code OutOfRange. Its counter is a variable, which the scope's initializers set to 0.
//
// It wraps ResourceCountUpTo.
func LimitEpochs(s *graph.Scope, x tfbridge.Output, numEpochs int64) tfbridge.Output {
	if numEpochs < 1 {
		s.UpdateErr("LimitEpochs", millrace.Errorf(millrace.ErrModel, "the number of epochs is %d, must be 1 or more", numEpochs))
	}
	if s.Err() != nil {
		return tfbridge.Output{}
	}
	s = s.SubScope("limit_epochs")
	epochs := newLocal(s.SubScope("epochs"), s.Const(int64(0)), tfbridge.ScalarShape())
	count := s.Op1("ResourceCountUpTo", map[string]any{"limit": numEpochs, "T": tfbridge.Int64}, epochs.handle)
	return graph.Identity(s.WithControlDependencies(count.Op), x)
}
