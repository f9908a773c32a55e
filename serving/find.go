package serving

import (
	"cmp"
	"context"
	"maps"
	"math/rand/v2"
	"slices"

	"millrace"
	"millrace/tfbridge"
)

// Acquire returns a version that is available. The caller releases it. An unknown
// model or version is an error of class millrace.ErrModel with the code NotFound,
// one version too many an error of class millrace.ErrOverloaded.
//
// A version that is loaded on demand is waited for, however long that takes: see
// [Server.AcquireContext].
func (s *Server) Acquire(spec ModelSpec) (*Version, error) {
	return s.AcquireContext(context.Background(), spec)
}

// AcquireContext is [Server.Acquire] that waits only until ctx is done.
func (s *Server) AcquireContext(ctx context.Context, spec ModelSpec) (*Version, error) {
	var waited *Version
	for {
		s.mu.Lock()
		v, there, err := tryAcquire(s, spec)
		if waited != nil && waited.err != nil && waited.state == End {
			err = waited.err
		}
		changed := s.changed
		s.mu.Unlock()
		switch {
		case there:
			return v, nil
		case err != nil:
			return nil, err
		}
		waited = v
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, millrace.Canceled(ctx, "waiting for the model to be loaded")
		}
	}
}

// Admit returns an error of class millrace.ErrOverloaded if a request for a version
// would be refused, whatever its signature is: as many versions as allowed are
// acquired, or the queues of all signatures are full. A server that calls it before it
// reads a request can refuse quickly. Other errors come from Acquire.
func (s *Server) Admit(spec ModelSpec) error {
	s.mu.Lock()
	v, err := s.find(spec)
	refused := s.options.admit(s.acquired)
	loaded := err == nil && v.state == Available
	s.mu.Unlock()
	if refused != nil || !loaded || !v.onlyBatches {
		return refused
	}
	for _, b := range v.batchers {
		if refused = b.Admit(); refused == nil {
			return nil
		}
	}
	return refused
}

// admit returns an error if no more versions may be acquired than the number given.
func (o *Options) admit(acquired int) error {
	if most := o.MaxConcurrentRequests; most > 0 && acquired >= most {
		return millrace.Errorf(millrace.ErrOverloaded, "%d requests are being answered, more are not allowed; try again later", most)
	}
	return nil
}

// find returns the version that a spec names. The caller holds the lock.
func (s *Server) find(spec ModelSpec) (*Version, error) {
	m := s.models[spec.Name]
	number, given, err := m.number(spec)
	if err != nil {
		return nil, err
	}
	if given {
		if v := m.version(number); v != nil && v.served() {
			return v, nil
		}
		return nil, errorf(tfbridge.NotFound, "Servable not found for request: Specific(%s, %d)", millrace.Quote(spec.Name), number)
	}
	if v := m.drawn(rand.Float64()); v != nil {
		return v, nil
	}
	if v := m.latest(); v != nil {
		return v, nil
	}
	return nil, errorf(tfbridge.NotFound, "Servable not found for request: Latest(%s)", millrace.Quote(spec.Name))
}

// latest returns the available version with the highest number, nil if there is
// none. The model may be nil.
func (m *model) latest() *Version {
	var best *Version
	if m == nil {
		return nil
	}
	for n, v := range m.versions {
		if v.served() && (best == nil || n > best.Number) {
			best = v
		}
	}
	return best
}

// number returns the number of the version that a spec names, if it names one. The
// model may be nil.
func (m *model) number(spec ModelSpec) (n int64, given bool, err error) {
	if spec.Label == "" {
		return spec.Version, spec.HasVersion || spec.Version > 0, nil
	}
	if spec.HasVersion || spec.Version > 0 {
		return 0, false, invalid("the request names both version %d and label %s", spec.Version, millrace.Quote(spec.Label))
	}
	if m != nil {
		n, given = m.config.VersionLabels[spec.Label]
	}
	if !given {
		return 0, false, invalid("Unrecognized servable version label: %s", millrace.Quote(spec.Label))
	}
	return n, true, nil
}

// Status returns the states of a model's versions, the highest number first, or of
// the one that is named. An unknown one is an error with the code NotFound.
func (s *Server) Status(spec ModelSpec) ([]VersionStatus, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.models[spec.Name]
	numbers := m.numbers()
	if len(numbers) == 0 {
		return nil, errorf(tfbridge.NotFound, "Could not find any versions of model %s", millrace.Quote(spec.Name))
	}
	number, given, err := m.number(spec)
	if err != nil {
		return nil, err
	}
	if given {
		numbers = []int64{number}
	}
	var all []VersionStatus
	for _, n := range numbers {
		v := m.version(n)
		if v == nil {
			return nil, errorf(tfbridge.NotFound, "Could not find version %d of model %s", n, millrace.Quote(spec.Name))
		}
		all = append(all, VersionStatus{Version: n, State: v.state, Err: v.err})
	}
	return all, nil
}

// version returns a version, nil if there is none. The model may be nil.
func (m *model) version(n int64) *Version {
	if m == nil {
		return nil
	}
	return m.versions[n]
}

// numbers returns the numbers of the versions, the highest first. The model may be
// nil.
func (m *model) numbers() []int64 {
	if m == nil {
		return nil
	}
	numbers := slices.Sorted(maps.Keys(m.versions))
	slices.Reverse(numbers)
	return numbers
}

// Serves reports whether there is a model of this name.
func (s *Server) Serves(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.models[name] != nil
}

// Models returns the names of the models, sorted.
func (s *Server) Models() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.models))
}

// labelled returns the available version of a label, nil if there is none.
func (m *model) labelled(label string) *Version {
	n, ok := m.config.VersionLabels[label]
	if v := m.versions[n]; ok && v != nil && v.served() {
		return v
	}
	return nil
}

// drawn returns the version of one of the canary's labels, chosen by their weights and
// a number from 0 to 1. Labels without an available version do not count. It returns
// nil if the model has no weights, or no such version.
func (m *model) drawn(draw float64) *Version {
	if m == nil || len(m.config.Canary) == 0 {
		return nil
	}
	labels := slices.Sorted(maps.Keys(m.config.Canary))
	total := 0
	for _, label := range labels {
		if m.labelled(label) != nil {
			total += m.config.Canary[label]
		}
	}
	at := draw * float64(total)
	for _, label := range labels {
		v := m.labelled(label)
		if v == nil || m.config.Canary[label] == 0 {
			continue
		}
		if at -= float64(m.config.Canary[label]); at < 0 {
			return v
		}
	}
	return nil
}

// Load returns the server's current amount of work.
func (s *Server) Load() Load {
	l := Load{}
	if most := s.Memory.Limit(); most > 0 {
		l.MemoryRatio = float64(s.Memory.InUse()) / float64(most)
	}
	var available []*Version
	s.mu.Lock()
	l.Requests = s.acquired
	for _, m := range s.models {
		for _, v := range m.versions {
			l.Versions = append(l.Versions, VersionState{v.Name, v.Number, v.state})
			if v.state == Available {
				available = append(available, v)
			}
		}
	}
	s.mu.Unlock()
	for _, v := range available {
		l.Queues = append(l.Queues, queuesOf(v)...)
	}
	slices.SortFunc(l.Versions, func(a, b VersionState) int {
		return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.Version, b.Version))
	})
	return l
}
