package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"millrace"
	"millrace/estimator/trainstep"
	"millrace/graph"
)

// phase is how far a training with parameter servers is.
type phase string

const (
	ready   phase = "ready"   // the servers hold the variables
	refused phase = "refused" // the processes would train something else
	ended   phase = "ended"   // the last checkpoint is written
	failed  phase = "failed"  // worker 0 has failed or was stopped; it does not come back by itself
)

// state is what worker 0 has decided.
type state struct {
	Generation string            `json:"generation"` // differs each time that worker 0 sets the variables
	Phase      phase             `json:"phase"`
	Message    string            `json:"message,omitempty"` // why it was refused, or failed
	Facts      map[string]string `json:"facts"`             // what worker 0 trains
	Closed     bool              `json:"closed,omitempty"`  // the servers may end
}

// post is what a worker writes before its first step.
type post struct {
	Facts map[string]string `json:"facts"`
	Nonce string            `json:"nonce"` // differs for each process
}

// Values of a worker's cell once it makes no more steps. Other values say why it has failed.
const (
	done = "done" // it has made its last step
	gone = "gone" // it has seen the end
)

// forever is a timeout that does not come.
const forever time.Duration = math.MaxInt64

// lastWait is how long worker 0 and the servers stay for workers that have not seen the end.
const lastWait = 10 * time.Second

// Place spreads variables over the parameter servers: the largest first, each to the server
// with the fewest bytes. All processes find the same places.
func (m *Member) Place(variables []graph.VariableSize) []string {
	order := make([]int, len(variables))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(variables[b].Bytes, variables[a].Bytes) })
	devices, load := make([]string, len(variables)), make([]int64, len(m.Servers))
	for _, i := range order {
		least := slices.Index(load, slices.Min(load))
		load[least] += max(variables[i].Bytes, 1)
		devices[i] = serverDevice(least)
	}
	return devices
}

// ServersOfStep returns what a step of training needs to know of the parameter servers; nil without.
func (m *Member) ServersOfStep() *trainstep.Servers {
	if !m.Async() {
		return nil
	}
	return &trainstep.Servers{Device: serverDevice(0), Rank: m.Rank}
}

// Meet waits until all parameter servers accept connections. It reports whether this process
// must set their variables: worker 0, unless they still have them from before it was restarted.
// A server that does not come in time is an error of class ErrPeer.
func (m *Member) Meet(ctx context.Context) (fill bool, err error) {
	if err := m.reachServers(ctx); err != nil || m.Rank > 0 {
		return false, err
	}
	s, err := m.state(ctx)
	return s == nil || s.Phase != ready, m.Lost(err)
}

// reachServers waits for the servers.
func (m *Member) reachServers(ctx context.Context) error {
	for i, address := range m.Servers {
		if err := reach(ctx, m.options.Timeout, fmt.Sprint("parameter server ", i), address); err != nil {
			return err
		}
	}
	return nil
}

// state returns the state that all servers have, nil if one has none or another one.
func (m *Member) state(ctx context.Context) (*state, error) {
	return m.stateIn(ctx, m.board.states...)
}

// stateIn is state for some of the servers.
func (m *Member) stateIn(ctx context.Context, cells ...cell) (*state, error) {
	values, err := m.board.read(ctx, cells...)
	if err != nil {
		return nil, err
	}
	var all []state
	for _, v := range values {
		text, _ := v.(string)
		var s state
		if json.Unmarshal([]byte(text), &s) != nil {
			return nil, nil
		}
		all = append(all, s)
	}
	if slices.ContainsFunc(all, func(s state) bool { return s.Generation != all[0].Generation || s.Phase != all[0].Phase }) {
		return nil, nil
	}
	return &all[0], nil
}

// publish writes a state to all servers.
func (m *Member) publish(ctx context.Context, s *state) error {
	text, err := json.Marshal(s)
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "cluster: %w", err)
	}
	for _, c := range m.board.states {
		if err := m.board.write(ctx, c, string(text)); err != nil {
			return err
		}
	}
	return nil
}

// Lost returns the error of a process whose servers do not answer; other errors unchanged.
func (m *Member) Lost(err error) error {
	if !m.Failed(err) {
		return err
	}
	return millrace.Errorf(millrace.ErrPeer, "%s: a parameter server failed or did not answer: %w", &m.Spec, err)
}

// Begin waits until all processes are about to train, and returns the number of steps that all
// have made. step is the one of the checkpoint, where Meet reported that this process sets the
// variables. Processes whose facts differ all get the same error of class ErrConfig.
func (m *Member) Begin(ctx context.Context, facts map[string]string, fill bool, step int64) (int64, error) {
	facts = maps.Clone(facts)
	delete(facts, "step") // a worker that was restarted comes in the middle
	begin := m.follow
	if m.Rank == 0 {
		begin = m.lead
		if !fill {
			begin = m.leadAgain
		}
	}
	if err := begin(ctx, facts, step); err != nil {
		return 0, m.Lost(err)
	}
	values, err := m.board.read(ctx, m.board.updates)
	if err != nil {
		return 0, m.Lost(err)
	}
	updates, _ := values[0].(int64)
	return updates, nil
}

// lead waits for the other workers and declares the servers ready.
func (m *Member) lead(ctx context.Context, facts map[string]string, step int64) error {
	s := &state{Generation: rand.Text(), Phase: ready, Facts: facts}
	for rank, c := range m.board.workers {
		if rank == 0 {
			continue
		}
		var p post
		err := until(ctx, m.options.Timeout, func() error {
			values, err := m.board.read(ctx, c)
			if err != nil {
				return err
			}
			text, ok := values[0].(string)
			if !ok || json.Unmarshal([]byte(text), &p) != nil {
				return fmt.Errorf("worker %d at %s has %w come", rank, m.Workers[rank], errNotYet)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if keys := differing(p.Facts, facts); keys != nil && s.Phase == ready {
			s.Phase, s.Message = refused, m.differs(rank, keys).Error()
		}
	}
	for _, c := range m.board.left {
		if err := m.board.write(ctx, c, ""); err != nil {
			return err
		}
	}
	if err := m.board.write(ctx, m.board.updates, step); err != nil {
		return err
	}
	if err := m.board.write(ctx, m.board.stops, int64(0)); err != nil {
		return err
	}
	if err := m.publish(ctx, s); err != nil {
		return err
	}
	if s.Phase == refused {
		m.end(ctx, s)
		return millrace.Errorf(millrace.ErrConfig, "%s", s.Message)
	}
	return nil
}

// leadAgain is lead of a process that was restarted while the servers kept the variables.
func (m *Member) leadAgain(ctx context.Context, facts map[string]string, _ int64) error {
	s, err := m.state(ctx)
	switch {
	case err != nil:
		return err
	case s == nil:
		return millrace.Errorf(millrace.ErrPeer, "%s: a parameter server has lost its variables", &m.Spec)
	}
	if keys := differing(s.Facts, facts); keys != nil {
		return m.differs(0, keys)
	}
	return nil
}

// follow waits until worker 0 has set the variables.
func (m *Member) follow(ctx context.Context, facts map[string]string, _ int64) error {
	own := post{Facts: facts, Nonce: rand.Text()}
	text, err := json.Marshal(&own)
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "cluster: %w", err)
	}
	cell := m.board.workers[m.Rank]
	if err := m.board.write(ctx, cell, string(text)); err != nil {
		return err
	}
	var s *state
	err = until(ctx, m.options.Timeout, func() (err error) {
		if s, err = m.state(ctx); err == nil && s == nil {
			return fmt.Errorf("worker 0 at %s has %w set the variables", m.Workers[0], errNotYet)
		}
		return err
	})
	if err != nil {
		return err
	}
	if s.Phase == refused {
		m.leave(ctx, gone)
		return millrace.Errorf(millrace.ErrConfig, "%s", s.Message)
	}
	if keys := differing(s.Facts, facts); keys != nil {
		return m.differs(m.Rank, keys)
	}
	values, err := m.board.read(ctx, cell)
	if err == nil && values[0] != string(text) {
		err = millrace.Errorf(millrace.ErrConfig, "two processes are worker %d (%s): give each its own --task", m.Rank, m.Workers[m.Rank])
	}
	return err
}

// differing returns the keys whose values differ, nil if none do.
func differing(a, b map[string]string) (keys []string) {
	all := map[string]string{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		x, inA := a[key]
		if y, inB := b[key]; inA != inB || x != y {
			keys = append(keys, key)
		}
	}
	return keys
}

// Stop asks all workers to make no more steps.
func (m *Member) Stop(ctx context.Context) error {
	return m.Lost(m.board.write(ctx, m.board.stops, int64(1)))
}

// WaitLeft waits until the other workers have made their last steps, and returns why some have
// not, or have failed.
func (m *Member) WaitLeft(ctx context.Context) (notes []string, err error) {
	for rank, c := range m.board.left {
		if rank == 0 {
			continue
		}
		err := until(ctx, m.options.Timeout, func() error {
			values, err := m.board.read(ctx, c)
			if err != nil {
				return err
			}
			text, _ := values[0].(string)
			switch text {
			case "":
				return fmt.Errorf("worker %d at %s has %w made its last step", rank, m.Workers[rank], errNotYet)
			case done, gone:
			default:
				notes = append(notes, fmt.Sprintf("worker %d at %s has failed: %s", rank, m.Workers[rank], text))
			}
			return nil
		})
		switch {
		case errors.Is(err, errNotYet):
			notes = append(notes, err.Error())
		case err != nil:
			return notes, m.Lost(err)
		}
	}
	return notes, nil
}

// leave records that this worker makes no more steps. A failure is not reported: the server may
// be the reason for leaving.
func (m *Member) leave(ctx context.Context, why string) {
	_ = m.board.write(ctx, m.board.left[m.Rank], why)
}

// Leave says that this worker makes no more steps, and waits until worker 0 has written the
// last checkpoint. With an error it does not wait.
func (m *Member) Leave(ctx context.Context, why error) error {
	if lasting := context.WithoutCancel(ctx); m.Rank == 0 {
		m.close(lasting, why)
		return nil
	} else if why != nil {
		if !errors.Is(why, millrace.ErrPeer) {
			m.leave(lasting, why.Error())
		}
		return nil
	}
	m.leave(ctx, done)
	absent := time.Now()
	err := until(ctx, forever, func() error {
		s, err := m.stateIn(ctx, m.board.states[0])
		if err != nil {
			return err
		}
		if s != nil && s.Phase != ready {
			m.leave(ctx, gone)
			return s.error()
		}
		return m.chief(ctx, &absent)
	})
	return m.Lost(err)
}

// chief returns errNotYet while worker 0 runs or may come back. absent is when it was last seen.
func (m *Member) chief(ctx context.Context, absent *time.Time) error {
	err := reach(ctx, 0, "worker 0", m.Workers[0])
	switch {
	case err == nil:
		*absent = time.Now()
	case ctx.Err() == nil && time.Since(*absent) > m.options.Timeout:
		return millrace.Errorf(millrace.ErrPeer, "worker 0 at %s has not answered for %v", m.Workers[0], m.options.Timeout)
	}
	return errNotYet
}

// error returns what the state means for a process that is not worker 0.
func (s *state) error() error {
	switch s.Phase {
	case refused:
		return millrace.Errorf(millrace.ErrConfig, "%s", s.Message)
	case failed:
		return millrace.Errorf(millrace.ErrPeer, "worker 0 has ended: %s", s.Message)
	}
	return nil
}

// close ends the training for all processes. Where worker 0 may come back after an error, the
// servers stay.
func (m *Member) close(ctx context.Context, why error) {
	if errors.Is(why, millrace.ErrPeer) {
		return
	}
	s, err := m.state(ctx)
	if err != nil || s == nil || s.Phase != ready {
		return
	}
	if s.Phase = ended; why != nil {
		s.Phase, s.Message = failed, why.Error()
	}
	if m.publish(ctx, s) == nil {
		m.end(ctx, s)
	}
}

// end waits for the workers to see a state, and lets the servers end.
func (m *Member) end(ctx context.Context, s *state) {
	for rank, c := range m.board.left {
		if rank == 0 {
			continue
		}
		_ = until(ctx, lastWait, func() error {
			values, err := m.board.read(ctx, c)
			if err == nil && (values[0] == nil || values[0] == "" || values[0] == done) {
				return errNotYet
			}
			return err
		})
	}
	s.Closed = true
	_ = m.publish(ctx, s)
}

// Serve runs a parameter server until worker 0 has ended the training. Its error is the one of
// the other processes.
func (m *Member) Serve(ctx context.Context) error {
	absent := time.Now()
	return until(ctx, forever, func() error {
		s, err := m.stateIn(ctx, m.board.states[0])
		if err != nil {
			return err
		}
		if s != nil && s.Closed {
			return s.error()
		}
		return m.chief(ctx, &absent)
	})
}
