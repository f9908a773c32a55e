package serving

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// errUnwanted is the reason why loading ends when a version is no longer to be served.
var errUnwanted = errors.New("the version is no longer wanted")

// poll looks at the file system until the server closes.
func (s *Server) poll() {
	ticker := time.NewTicker(s.options.FileSystemPollWait)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.look(s.options.MaxNumLoadRetries) // logs the errors
		case <-s.ctx.Done():
			return
		}
	}
}

// look compares the base paths with the served versions. If a base path cannot be read,
// its model stays as it is.
func (s *Server) look(retries int) error {
	s.looking.Lock()
	defer s.looking.Unlock()
	s.mu.Lock()
	configs := map[*model]ModelConfig{}
	for _, m := range s.models {
		if !m.removed {
			configs[m] = m.config
		}
	}
	s.mu.Unlock()
	var errs []error
	for m, c := range configs {
		folders, err := c.aspired()
		errs = append(errs, err)
		s.mu.Lock()
		if err != nil && !m.unreadable {
			s.options.Logger.Error("file system poll", slog.String("model", c.Name), slog.String("error", err.Error()))
		}
		m.unreadable = err != nil
		if err == nil && !m.removed && m.config.BasePath == c.BasePath {
			s.aspire(m, folders, retries)
		}
		s.mu.Unlock()
	}
	return errors.Join(errs...)
}

// aspire starts to load the versions that are missing, and unloads those that are
// no longer wanted. The caller holds the lock.
func (s *Server) aspire(m *model, folders map[int64]string, retries int) {
	if s.closed {
		return
	}
	if !m.empty && len(folders) == 0 && !m.removed {
		s.options.Logger.Warn("no versions: the folder of a version is named by its number, such as "+m.config.BasePath+"/1",
			slog.String("model", m.config.Name), slog.String("base_path", m.config.BasePath))
	}
	m.empty = len(folders) == 0
	for n, path := range folders {
		old := m.versions[n]
		failed := old != nil && old.err != nil && old.aspired
		if old == nil || old.state == End && !failed {
			begin(s, m, n, origin{path, retries})
		}
	}
	for n, v := range m.versions {
		if _, v.aspired = folders[n]; !v.aspired && v.stop != nil {
			v.stop(errUnwanted)
		}
	}
	s.settle(m)
}

// origin is where a version comes from, and how often loading is repeated.
type origin struct {
	path    string
	retries int
}

// begin starts to load a version. The caller holds the lock.
func begin(s *Server, m *model, n int64, at origin) {
	onDemand := s.options.ModelMemory > 0
	if onDemand && !m.has(func(v *Version) bool { return v.state == Available || v.state == Loading }) {
		m.versions[n] = newIdle(s, m, n, at.path)
		return
	}
	v := &Version{Name: m.config.Name, Number: n, path: at.path, config: m.config, answers: m.answers, server: s, aspired: true}
	m.versions[n] = v
	if onDemand {
		v.onDemand, v.size = true, modelBytes(at.path)
		s.modelMemory += v.size
	}
	launch(s, m, v, at.retries)
}

// launch starts loading a version. The caller holds the lock.
func launch(s *Server, m *model, v *Version, retries int) {
	ctx, stop := context.WithCancelCause(s.ctx)
	v.stop = stop
	v.setState(Loading, nil)
	s.work.Add(1) // until the version ends
	go func() {
		err := v.load(ctx, retries)
		s.mu.Lock()
		defer s.mu.Unlock()
		v.stop = nil
		stop(nil)
		if err == nil {
			v.refs = 1
			v.setState(Available, nil)
			s.settle(m)
			return
		}
		if errors.Is(err, errUnwanted) || errors.Is(err, errClosing) {
			err = nil
		}
		v.setState(End, err)
		if v.onDemand {
			s.modelMemory -= v.size
		}
		s.work.Done()
	}()
}

// settle unloads the versions that are no longer wanted if one that is wanted is
// available, or none is wanted. The caller holds the lock.
func (s *Server) settle(m *model) {
	wanted := func(v *Version) bool { return v.aspired }
	served := func(v *Version) bool { return v.aspired && (v.state == Available || v.idle()) }
	if m.has(wanted) && !m.has(served) && !s.closed {
		return
	}
	for _, v := range m.versions {
		if v.state == Available && (!v.aspired || s.closed) {
			v.setState(Unloading, nil)
			v.release()
		} else if v.idle() && (!v.aspired || s.closed) {
			v.setState(End, nil)
		}
	}
}
