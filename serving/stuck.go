package serving

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"millrace"
	"millrace/tfbridge"
)

// A run that TensorFlow has not ended although its requests have been answered holds a
// thread, memory and one of the places for runs. Nothing can end it: its options had
// the deadline, and it was canceled. A kernel with a very long computation can be the
// cause. The server can only report it, so that an orchestrator restarts the server.

// StuckRun is a run of a version that has not ended although no request waits for it.
type StuckRun struct {
	Model   string
	Version int64
	tfbridge.AbandonedRun
}

// stuckGrace is how long a run may continue after its requests have left before it
// counts as stuck.
const stuckGrace = time.Second

// watchStuckInterval is the time between two checks for stuck runs.
const watchStuckInterval = time.Second

// StuckRuns returns the runs that have not ended one second after the last request that
// waited for them has left, the oldest first.
func (s *Server) StuckRuns() []StuckRun {
	var versions []*Version
	s.mu.Lock()
	for _, m := range s.models {
		for _, v := range m.versions {
			if v.state == Available || v.state == Unloading {
				versions = append(versions, v)
			}
		}
	}
	s.mu.Unlock()
	var stuck []StuckRun
	for _, v := range versions {
		for _, r := range v.model.Abandoned() {
			if time.Since(r.Since) > stuckGrace {
				stuck = append(stuck, StuckRun{v.Name, v.Number, r})
			}
		}
	}
	slices.SortFunc(stuck, func(a, b StuckRun) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Computes, b.Computes))
	})
	return stuck
}

// checkStuck returns an error if the first of the runs, which is the oldest, is stuck
// for most or longer. A negative most allows any time.
func checkStuck(stuck []StuckRun, most time.Duration) error {
	if len(stuck) == 0 || most < 0 || time.Since(stuck[0].Since) < most {
		return nil
	}
	r := stuck[0]
	return millrace.Errorf(millrace.ErrOverloaded, "TensorFlow has not ended a run of model %q, version %d, %v after its requests were answered (%d such runs); start the server again",
		r.Model, r.Version, time.Since(r.Since).Round(time.Second), len(stuck))
}

// Ready returns nil if the server is ready; see [Health]. It returns an error of class
// millrace.ErrClosed after [Server.Drain] or [Server.Close], one of class
// millrace.ErrOverloaded while a run is stuck for longer than [Options.StuckRunTimeout],
// and one with the code Unavailable while a model has no version that is available.
func (s *Server) Ready() error {
	stuck := checkStuck(s.StuckRuns(), s.options.StuckRunTimeout)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.board.stuck = stuck
	return s.board.health(s.models, s.closed).Err
}

// Drain makes the server report that it is not ready, so that clients stop sending
// requests. It still answers requests, until [Server.Close].
func (s *Server) Drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.board.draining = true
	s.board.report(s.models, s.closed)
}

// OnHealth lets f be called with the server's health: now, and when it changes, until
// the server closes. f must return soon, and must not call the server.
func (s *Server) OnHealth(f func(Health)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.board.onHealth = append(s.board.onHealth, f)
	f(s.board.health(s.models, s.closed))
}

// watchStuck logs stuck runs, and reports a change of the server's health, until the server
// closes.
func (s *Server) watchStuck() {
	ticker := time.NewTicker(watchStuckInterval)
	defer ticker.Stop()
	logged := map[StuckRun]bool{}
	for {
		select {
		case <-ticker.C:
			logged = s.lookForStuck(logged)
		case <-s.ctx.Done():
			return
		}
	}
}

// lookForStuck logs the stuck runs that are not logged yet. It returns all stuck runs.
func (s *Server) lookForStuck(logged map[StuckRun]bool) map[StuckRun]bool {
	stuck := s.StuckRuns()
	now := make(map[StuckRun]bool, len(stuck))
	for _, r := range stuck {
		now[r] = true
		if !logged[r] {
			s.options.Logger.Warn("stuck run", slog.String("model", r.Model), slog.Int64("version", r.Version),
				slog.String("computes", r.Computes), slog.Duration("since", time.Since(r.Since).Round(time.Millisecond)))
		}
	}
	err := checkStuck(stuck, s.options.StuckRunTimeout)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.board.stuck = err
	s.board.report(s.models, s.closed)
	return now
}
