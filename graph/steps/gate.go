package steps

import (
	"fmt"

	"millrace/graph"
	"millrace/tfbridge"
)

// Who failed, the input or the model? A step is one run of one graph, and the
// error of a run has a code and a text. The same code may come from either:
// InvalidArgument is a record with a missing feature as well as an assertion
// of the model. The text names an operation, but a decision must not rest on
// words: TensorFlow changes them, and records and models put their own words
// into them.
//
// Reading the data once more would show it, but takes as long as the run has taken so
// far, and live data cannot be read again. So the graph itself keeps count. A gate
// stands between the two:
//
//	input ──► tensors ──┬──────────────► Identity ──► model ──► fetches
//	                    └┄┄► count += 1 ┄┄┘                 (┄┄ control edge)
//
// The model's operations wait for the count, and the count waits for the tensors. After a
// failed step the count is read. If it went up, the batch had arrived and the model failed;
// otherwise the input failed. An operation that depends on no tensor of the batch does not
// wait for the gate: its failure may count as the input's.

// Gate distinguishes a failure of an input from a failure of the model joined to it.
// [NewGate] makes one. Only one run at a time may use it.
type Gate struct {
	// Tensors are the input's tensors after the gate, in the same order. The model takes
	// these.
	Tensors []NamedOutput

	reset *tfbridge.Operation
	count tfbridge.Output
}

// NewGate adds a gate after the tensors of an input. A failure sticks to the scope.
func NewGate(s *graph.Scope, tensors []NamedOutput) *Gate {
	s = s.SubScope("gate")
	counter := s.Op1("VarHandleOp", map[string]any{
		"dtype": tfbridge.Int64, "shape": tfbridge.ScalarShape(), "container": "", "shared_name": s.Prefix() + "count",
	})
	arrived := make([]*tfbridge.Operation, len(tensors))
	for i, t := range tensors {
		arrived[i] = t.Output.Op
	}
	add := s.WithControlDependencies(arrived...).AddOperation(tfbridge.OpSpec{
		Type: "AssignAddVariableOp", Input: []tfbridge.Input{counter, s.Const(int64(1))},
	})
	g := &Gate{
		Tensors: make([]NamedOutput, len(tensors)),
		reset: s.AddOperation(tfbridge.OpSpec{
			Type: "AssignVariableOp", Input: []tfbridge.Input{counter, s.Const(int64(0))},
		}),
		count: s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Int64}, counter),
	}
	behind := s.WithControlDependencies(add)
	for i, t := range tensors {
		g.Tensors[i] = NamedOutput{Name: t.Name, Output: graph.Identity(behind, t.Output)}
	}
	return g
}

// start sets the count to 0.
func (g *Gate) start(sess *tfbridge.Session) error {
	if _, err := sess.Run(nil, nil, []*tfbridge.Operation{g.reset}); err != nil {
		return fmt.Errorf("start the run: %w", err)
	}
	return nil
}

// passed returns how many batches have arrived since start.
func (g *Gate) passed(sess *tfbridge.Session) (int64, error) {
	values, err := sess.Run(nil, []tfbridge.Output{g.count}, nil)
	if err != nil {
		return 0, err
	}
	defer values[0].Close()
	count, err := tfbridge.View[int64](values[0])
	if err != nil {
		return 0, err
	}
	return count[0], nil
}
