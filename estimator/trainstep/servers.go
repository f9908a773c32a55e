package trainstep

import (
	"millrace/graph"
	"millrace/tfbridge"
)

/*
How several processes train by parameter servers

The variables are not in the process that computes: each is on one of several servers, beside
its slots. All-reduce keeps a copy of every variable in every process, and waits for all of
them in each step. Here a process reads the variables, computes derivatives with a batch that
no other process has, and changes the variables, whatever the others do meanwhile:

	server 0   | kernel, its slots, counters |        | table, its slots |   server 1
	                 |          ^                        |          ^
	                 v          | derivative             v rows     | derivative of rows
	worker 0      read ... loss ... derivatives ... apply
	worker 1   read ... loss ... derivatives ... apply

An update is an operation on the server, so only values and derivatives travel. It may be
computed from values that others have changed since: the price of not waiting.

The graph is the one of a process alone. The devices of its variables are all that differs,
and TensorFlow cuts the graph where they change.
*/

// Servers says where a step finds what all processes share.
type Servers struct {
	Device string // device of the counters and of slots that belong to all variables: "/job:ps/replica:0/task:0"
	Rank   int    // the number of this process among those that compute
}

// Shared names of int64 scalars on Servers.Device: they say what Step.Updates and Step.Stop return.
// The processes agree on these values, so the step neither makes nor initializes them.
const (
	UpdatesVariable = "millrace/updates"
	StopVariable    = "millrace/stop"
)

// countTogether adds 1 to the number of steps of all processes, after operations, and reads
// whether the training is to end.
func (b *builder) countTogether(after []*tfbridge.Operation) *tfbridge.Operation {
	s := b.s.SubScope("servers").WithDevice(b.o.Servers.Device)
	updates, stop := SharedCounter(s, UpdatesVariable), SharedCounter(s, StopVariable)
	added := s.WithControlDependencies(after...).AddOperation(tfbridge.OpSpec{
		Type: "AssignAddVariableOp", Input: []tfbridge.Input{updates, s.Const(int64(1))},
	})
	later := s.WithControlDependencies(added)
	b.step.Updates = readCounter(later, updates)
	b.step.Stop = readCounter(later, stop)
	return graph.NoOp(later, b.step.Updates.Op, b.step.Stop.Op)
}

// SharedCounter returns the handle of an int64 scalar that all processes find by its name on
// the scope's device.
func SharedCounter(s *graph.Scope, name string) tfbridge.Output {
	return s.Op1("VarHandleOp", map[string]any{"dtype": tfbridge.Int64, "shape": tfbridge.ScalarShape(), "shared_name": name})
}

// readCounter reads a counter.
func readCounter(s *graph.Scope, handle tfbridge.Output) tfbridge.Output {
	return s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Int64}, handle)
}
