package serving

import (
	"errors"
	"maps"
	"slices"

	"millrace"
	"millrace/tfbridge"
)

// Health says whether the server is ready for requests.
type Health struct {
	// Err is nil if the server is ready: each model of its configuration has a version that is
	// available, no run is stuck, and the server neither drains nor closes.
	Err error
	// Models has the models of the configuration, each with whether one of its versions is
	// available and the server neither drains nor closes.
	Models map[string]bool
}

// equal reports whether two states are displayed in the same way.
func (h Health) equal(other Health) bool {
	return (h.Err == nil) == (other.Err == nil) && maps.Equal(h.Models, other.Models)
}

// board keeps the conditions of a server's health other than its models, and the
// functions to call when it changes. The server's lock guards it.
type board struct {
	draining bool
	stuck    error          // not nil: a run is stuck for too long
	reported Health         // last
	onHealth []func(Health) // called when it changes
}

// health returns the health of a server with these models.
func (b *board) health(models map[string]*model, closed bool) Health {
	h := Health{Models: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(models)) {
		m := models[name]
		if m.removed {
			continue
		}
		available := m.latest() != nil
		h.Models[name] = available && !closed && !b.draining
		if !available && h.Err == nil {
			h.Err = m.unavailable(name)
		}
	}
	switch {
	case closed:
		h.Err = millrace.Errorf(millrace.ErrClosed, "the server is closing")
	case b.draining:
		h.Err = millrace.Errorf(millrace.ErrClosed, "the server is draining: it will close")
	case b.stuck != nil:
		h.Err = b.stuck
	}
	return h
}

// report calls the functions for the health of a server with these models, if the
// health has changed.
func (b *board) report(models map[string]*model, closed bool) {
	now := b.health(models, closed)
	if now.equal(b.reported) {
		return
	}
	b.reported = now
	for _, f := range b.onHealth {
		f(now)
	}
}

// unavailable returns the error of a model none of whose versions is available. The caller holds
// the server's lock.
func (m *model) unavailable(name string) error {
	var errs []error
	for _, n := range m.numbers() {
		errs = append(errs, m.versions[n].err)
	}
	if err := errors.Join(errs...); err != nil {
		return errorf(tfbridge.Unavailable, "model %q: no version is available: %w", name, err)
	}
	return errorf(tfbridge.Unavailable, "model %q: no version is available", name)
}
