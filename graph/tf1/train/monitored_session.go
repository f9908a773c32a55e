package train

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"

	"millrace/graph"
	"millrace/tfbridge"
)

// MonitoredSession is a session that is ready for a pipeline of queues: its variables are
// initialized and its QueueRunners run. Many goroutines may use it concurrently.
//
//	m, err := train.NewMonitoredSession(ctx, s, nil)
//	if err != nil {
//		return err
//	}
//	defer m.Close()
//	for step, err := range m.Steps(ctx, fetches, nil) {
//		...
//	}
//	return m.Close()
type MonitoredSession struct {
	session     *tfbridge.Session
	coordinator *Coordinator
}

// MonitoredSessionOptions are the options of a MonitoredSession. Nil and the zero
// value mean the defaults.
type MonitoredSessionOptions struct {
	Session     *tfbridge.SessionOptions
	Coordinator *CoordinatorOptions
	Feeds       map[tfbridge.Output]*tfbridge.Tensor // feeds of the initializers
	Logger      *slog.Logger                         // receives the [Warnings] of the graph; nil: slog.Default()
}

// NewMonitoredSession makes a session of the scope's graph, runs the initializers of
// the scope in it, and starts its QueueRunners. They stop when ctx is done. It logs the [Warnings] of the graph. The caller
// closes the session before the graph.
func NewMonitoredSession(ctx context.Context, s *graph.Scope, o *MonitoredSessionOptions) (*MonitoredSession, error) {
	if o == nil {
		o = &MonitoredSessionOptions{}
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	for _, warning := range Warnings(s) {
		cmp.Or(o.Logger, slog.Default()).WarnContext(ctx, warning)
	}
	session, err := tfbridge.NewSession(s.Graph(), o.Session)
	if err != nil {
		return nil, err
	}
	m := &MonitoredSession{session: session, coordinator: NewCoordinator(ctx, o.Coordinator)}
	if first := s.Initializers(); len(first) > 0 {
		_, err = session.RunContext(ctx, o.Feeds, nil, first)
	}
	if err == nil {
		err = StartQueueRunners(m.coordinator, session, s)
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Session returns the session itself.
func (m *MonitoredSession) Session() *tfbridge.Session { return m.session }

// Coordinator returns the coordinator of the runners.
func (m *MonitoredSession) Coordinator() *Coordinator { return m.coordinator }

// ShouldStop reports whether a stop was requested.
func (m *MonitoredSession) ShouldStop() bool { return m.coordinator.ShouldStop() }

// Run is [tfbridge.Session.RunContext], except that the error is the runner's if the run
// failed because a runner did. The end of the data is an error with code OutOfRange.
func (m *MonitoredSession) Run(ctx context.Context, feeds map[tfbridge.Output]*tfbridge.Tensor, fetches []tfbridge.Output, targets []*tfbridge.Operation) ([]*tfbridge.Tensor, error) {
	out, err := m.session.RunContext(ctx, feeds, fetches, targets)
	if err == nil {
		return out, nil
	}
	// A runner that fails reports to the coordinator before it closes its queue. So the
	// coordinator has the cause before this run sees the effect.
	if failure := m.coordinator.failure(); failure != nil {
		return nil, failure
	}
	return nil, err
}

// Steps runs fetches and targets repeatedly, until the data ends or the coordinator stops.
// A step is the values of the fetches, which are valid until the next iteration. An error
// comes last and once, with a nil step. The end of the data ends the sequence without an
// error.
func (m *MonitoredSession) Steps(ctx context.Context, fetches []tfbridge.Output, targets []*tfbridge.Operation) iter.Seq2[[]*tfbridge.Tensor, error] {
	return func(yield func([]*tfbridge.Tensor, error) bool) {
		for !m.ShouldStop() {
			step, err := m.Run(ctx, nil, fetches, targets)
			if errors.Is(err, tfbridge.OutOfRange) {
				return
			}
			more := yield(step, err)
			for _, t := range step {
				t.Close()
			}
			if !more || err != nil {
				return
			}
		}
		if err := m.coordinator.failure(); err != nil {
			yield(nil, err)
		}
	}
}

// Close stops the runners, waits for them and closes the session. It returns the first
// error of a runner, or an error that names late runners.
func (m *MonitoredSession) Close() error {
	m.coordinator.RequestStop(nil)
	err := m.coordinator.Join()
	return errors.Join(err, m.session.Close())
}
