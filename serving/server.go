package serving

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"millrace"
	"millrace/serving/budget"
	"millrace/serving/internal/answers"
	"millrace/serving/requestlog"
	"millrace/tfbridge"
)

// New returns a Server with the wanted versions of models. It waits until each model
// has an available version, and if necessary until one appears in its base path. If
// none of a model's versions can be loaded, New returns an error of the classes of
// [graph.LoadModel]. When ctx is done, New stops waiting and returns an error.
func New(ctx context.Context, configs []ModelConfig, o *Options) (*Server, error) {
	s := &Server{options: o.complete(), models: map[string]*model{}, logs: map[LoggingConfig]*requestlog.Log{}, changed: make(chan struct{})}
	s.Memory = budget.New(s.options.RequestMemory)
	s.loading = make(chan struct{}, s.options.NumLoadThreads)
	if n := s.options.NumUnloadThreads; n > 0 {
		s.ending = make(chan struct{}, n)
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	if err := s.replace(ctx, configs, 0); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.work.Go(s.watchStuck)
	if s.options.FileSystemPollWait > 0 {
		s.work.Go(s.poll)
	}
	return s, nil
}

// ReplaceConfig replaces the configuration. Models in both configurations stay; those
// only in the old one are unloaded. It waits like [New]. After an error of class
// millrace.ErrConfig the old configuration stays; after other errors the new one stays,
// as far as it can be served. A new base path without versions is an error of class
// millrace.ErrConfig, so that a mistyped path does not end the served models.
func (s *Server) ReplaceConfig(ctx context.Context, configs []ModelConfig) error {
	if err := checkConfigs(configs); err != nil {
		return err
	}
	served := map[string]string{}
	s.mu.Lock()
	for name, m := range s.models {
		if !m.removed {
			served[name] = m.config.BasePath
		}
	}
	s.mu.Unlock()
	if err := checkNewPaths(configs, served); err != nil {
		return err
	}
	return s.replace(ctx, configs, s.options.MaxNumLoadRetries)
}

// checkNewPaths returns an error for a model whose base path has changed and has no
// versions to serve.
func checkNewPaths(configs []ModelConfig, served map[string]string) error {
	for _, c := range configs {
		if served[c.Name] == c.BasePath {
			continue
		}
		folders, err := c.aspired()
		if err == nil && len(folders) > 0 {
			continue
		}
		if err == nil {
			err = fmt.Errorf("%s has no versions to serve", c.BasePath)
		}
		e := millrace.Errorf(millrace.ErrConfig, "model %q: %w; the server keeps its configuration", c.Name, err)
		e.Code = int(tfbridge.NotFound)
		return e
	}
	return nil
}

// replace is ReplaceConfig with a number of retries; if waits is set it waits for paths
// to appear.
func (s *Server) replace(ctx context.Context, configs []ModelConfig, retries int) error {
	if err := checkConfigs(configs); err != nil {
		return err
	}
	if err := s.openLogs(configs); err != nil {
		return err
	}
	if err := s.exchange(configs); err != nil {
		return err
	}
	if err := s.look(retries); err != nil {
		return err
	}
	for _, c := range configs {
		if err := s.waitFor(ctx, c.Name, retries); err != nil {
			return err
		}
	}
	return s.checkLabels(configs)
}

// exchange stores the new configuration and unloads the models and versions that are no
// longer in it.
func (s *Server) exchange(configs []ModelConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return millrace.Errorf(millrace.ErrClosed, "the server is closed")
	}
	unwanted := maps.Clone(s.models)
	for _, c := range configs {
		delete(unwanted, c.Name)
		m := s.models[c.Name]
		if m == nil {
			m = &model{versions: map[int64]*Version{}}
			s.models[c.Name] = m
		}
		if m.config.CacheBytes != c.CacheBytes {
			m.answers = answers.New(c.CacheBytes)
		}
		m.config, m.removed = c.clone(), false
	}
	for name, m := range unwanted {
		m.removed = true
		s.aspire(m, nil, 0)
		if !m.has(func(v *Version) bool { return v.state != End }) {
			delete(s.models, name)
		}
	}
	return nil
}

// checkLabels returns an error if a label names a version that is not available.
func (s *Server) checkLabels(configs []ModelConfig) error {
	if s.options.AllowVersionLabelsForUnavailableModels {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range configs {
		for label, n := range c.VersionLabels {
			if _, err := s.find(ModelSpec{Name: c.Name, Version: n, HasVersion: true}); err != nil {
				return errorf(tfbridge.FailedPrecondition, "label %q of model %q names version %d, which is not available", label, c.Name, n)
			}
		}
	}
	return nil
}

// waitFor waits until the wanted versions of a model are available or have failed.
// It returns the failures if none is available.
func (s *Server) waitFor(ctx context.Context, name string, retries int) error {
	for {
		s.mu.Lock()
		changed := s.changed
		pending, done, err := s.models[name].progress(name, s.closed)
		s.mu.Unlock()
		if done {
			return err
		}
		if !pending && s.options.FileSystemPollWait < 0 {
			return errorf(tfbridge.NotFound, "there are no versions of model %q in its base path", name)
		}
		if err := s.waitOrLook(ctx, changed, pending, retries); err != nil {
			return err
		}
	}
}

// progress reports whether wanted versions of a model are being loaded, and whether
// there is no reason to wait any more. The model may be nil. The caller holds the
// server's lock.
func (m *model) progress(name string, closed bool) (pending, done bool, err error) {
	if closed || m == nil || m.removed {
		return false, true, millrace.Errorf(millrace.ErrClosed, "model %q is no longer served", name)
	}
	available := false
	for _, v := range m.versions {
		switch {
		case !v.aspired:
		case v.state == Available, v.idle():
			available = true
		case v.state == End:
			err = errors.Join(err, v.err)
		case v.err != nil: // it failed, and is tried again later
			err = errors.Join(err, fmt.Errorf("%w; it is tried again", v.err))
		default:
			pending = true
		}
	}
	if available {
		err = nil
	}
	return pending, !pending && (available || err != nil), err
}

// waitOrLook waits for a change. As long as there is no version it scans the base path.
func (s *Server) waitOrLook(ctx context.Context, changed <-chan struct{}, pending bool, retries int) error {
	var again <-chan time.Time
	if !pending {
		timer := time.NewTimer(s.options.FileSystemPollWait)
		defer timer.Stop()
		again = timer.C
	}
	select {
	case <-changed:
	case <-again:
		return s.look(retries)
	case <-ctx.Done():
		return millrace.Canceled(ctx, "waiting for models")
	case <-s.ctx.Done():
		return millrace.Canceled(s.ctx, "waiting for models")
	}
	return nil
}

// Close refuses new requests, waits until the versions have answered their requests,
// and closes the models. It is idempotent.
func (s *Server) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		s.cancel(errClosing)
		for _, m := range s.models {
			s.settle(m)
		}
		s.announce()
	}
	s.mu.Unlock()
	s.work.Wait()
	return s.closeLogs()
}
