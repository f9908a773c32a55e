package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"millrace"
	"millrace/estimator/trainstep"
	"millrace/graph"
	"millrace/tfbridge"
)

/*
How processes with parameter servers find each other

Workers do not talk to each other: each has connections to the servers alone, so that it
does not notice when another one dies. What they must know of each other is in variables of
the servers, which any process reads and writes by name:

	millrace/state      each server    what worker 0 has decided: a [state] as JSON
	millrace/worker/N   server 0       what worker N is about to train: its facts as JSON
	millrace/left/N     server 0       worker N has made its last step
	millrace/updates    server 0       steps of all workers so far
	millrace/stop       server 0       1: make no more steps

A server that was killed has lost its variables, and its state with them. That is how worker
0 finds out, when it starts again, that the variables are to be set from the checkpoint. If
all servers have one state, they still have the variables, and worker 0 continues with those.
*/

// cell is a variable of the board.
type cell struct {
	read, known tfbridge.Output // the value, and whether there is one
	value       tfbridge.Output // the placeholder of a new value
	write       *tfbridge.Operation
}

// board reads and writes the cells. One goroutine at a time may use it.
type board struct {
	spec    *Spec
	options *tfbridge.SessionOptions
	graph   *tfbridge.Graph
	session *tfbridge.Session // nil: to be made when it is needed

	states         []cell // one on each server; a server has only the own one
	workers, left  []cell // one for each worker; none on a server
	updates, stops cell
}

// newBoard makes the cells that a process may use.
func newBoard(spec *Spec, o *tfbridge.SessionOptions) (*board, error) {
	s := graph.NewScope()
	b := &board{spec: spec, options: o}
	on := func(task int) *graph.Scope { return s.WithDevice(serverDevice(task)) }
	for task := range spec.Servers {
		if !spec.Server || task == spec.Rank {
			b.states = append(b.states, newCell(on(task), tfbridge.String, "millrace/state"))
		}
	}
	if !spec.Server {
		for rank := range spec.Workers {
			b.workers = append(b.workers, newCell(on(0), tfbridge.String, fmt.Sprint("millrace/worker/", rank)))
			b.left = append(b.left, newCell(on(0), tfbridge.String, fmt.Sprint("millrace/left/", rank)))
		}
		b.updates = newCell(on(0), tfbridge.Int64, trainstep.UpdatesVariable)
		b.stops = newCell(on(0), tfbridge.Int64, trainstep.StopVariable)
	}
	var err error
	b.graph, err = s.Finalize()
	return b, err
}

// serverDevice returns the device of a parameter server.
func serverDevice(task int) string { return fmt.Sprintf("/job:%s/replica:0/task:%d", serverJob, task) }

// newCell adds a variable.
func newCell(s *graph.Scope, dt tfbridge.DataType, name string) cell {
	scalar := tfbridge.ScalarShape()
	handle := s.Op1("VarHandleOp", map[string]any{"dtype": dt, "shape": scalar, "shared_name": name})
	c := cell{
		read: s.Op1("ReadVariableOp", map[string]any{"dtype": dt}, handle), known: s.Op1("VarIsInitializedOp", nil, handle),
		value: s.WithDevice("").Placeholder(dt, scalar),
	}
	c.write = s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{handle, c.value}})
	return c
}

// run runs a part of the board's graph. After a failure the next run has a new session: a
// server that is back is another one to TensorFlow.
func (b *board) run(ctx context.Context, feeds map[tfbridge.Output]*tfbridge.Tensor, fetch []tfbridge.Output, ops ...*tfbridge.Operation) (out []*tfbridge.Tensor, err error) {
	if b.session == nil {
		if b.session, err = tfbridge.NewSession(b.graph, b.options); err != nil {
			return nil, err
		}
	}
	if out, err = b.session.RunContext(ctx, feeds, fetch, ops); err != nil {
		b.close()
	}
	return out, err
}

// close closes the session.
func (b *board) close() {
	if b.session != nil {
		b.session.Close() //nolint:errcheck // the next run makes another
		b.session = nil
	}
}

// read returns the values of cells, nil for one without a value.
func (b *board) read(ctx context.Context, cells ...cell) ([]any, error) {
	var fetch []tfbridge.Output
	for _, c := range cells {
		fetch = append(fetch, c.known)
	}
	known, err := b.fetch(ctx, fetch)
	if err != nil {
		return nil, err
	}
	fetch = nil
	for i, c := range cells {
		if known[i] == true {
			fetch = append(fetch, c.read)
		}
	}
	values, err := b.fetch(ctx, fetch)
	if err != nil {
		return nil, err
	}
	all := make([]any, len(cells))
	for i := range cells {
		if known[i] == true {
			all[i], values = values[0], values[1:]
		}
	}
	return all, nil
}

// fetch returns the values of scalars.
func (b *board) fetch(ctx context.Context, outputs []tfbridge.Output) ([]any, error) {
	if len(outputs) == 0 {
		return nil, nil
	}
	tensors, err := b.run(ctx, nil, outputs)
	if err != nil {
		return nil, err
	}
	var values []any
	for _, t := range tensors {
		values = append(values, t.Value())
		t.Close()
	}
	return values, nil
}

// write gives a cell a value: a string or an int64.
func (b *board) write(ctx context.Context, c cell, value any) error {
	t, err := tfbridge.NewTensor(value)
	if err != nil {
		return err
	}
	defer t.Close()
	_, err = b.run(ctx, map[tfbridge.Output]*tfbridge.Tensor{c.value: t}, nil, c.write)
	return err
}

// pollEvery is the time between two looks at something that another process is to change.
const pollEvery = 200 * time.Millisecond

// errNotYet is what a condition returns that does not hold yet.
var errNotYet = errors.New("not yet")

// until calls a condition until it returns another error than one that wraps errNotYet. After
// a timeout it returns an error of class ErrPeer with the text of the last one.
func until(ctx context.Context, timeout time.Duration, condition func() error) error {
	late := time.After(timeout)
	for {
		err := condition()
		if !errors.Is(err, errNotYet) {
			return err
		}
		select {
		case <-ctx.Done():
			return millrace.Canceled(ctx, "")
		case <-late:
			return millrace.Errorf(millrace.ErrPeer, "after %v: %w", timeout, err)
		case <-time.After(pollEvery):
		}
	}
}

// reach waits until something accepts connections at an address.
func reach(ctx context.Context, timeout time.Duration, what, address string) error {
	return until(ctx, timeout, func() error {
		dialer := net.Dialer{Timeout: time.Second}
		c, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("%s at %s has %w come: %w", what, address, errNotYet, err)
		}
		return c.Close()
	})
}
