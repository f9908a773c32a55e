package serving

import (
	"cmp"
	"context"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"millrace"
	"millrace/remote"
)

/*
More models than memory

With Options.ModelMemory a model is loaded when it is first asked for, and the models that were
not asked for longest are unloaded to make room:

	START --(asked for)--> LOADING --> AVAILABLE --(others need its room)--> UNLOADING --> START

A model takes memoryFactor times its files. Requests hold their version, so that only models
without requests are unloaded. When those in use fill the memory, a request for another one is
refused as overloaded.

A new version of a model that is loaded is loaded at once, beside the old one, as without a
limit: a broken version must not end one that works. A model that is not loaded only gets its
newest version when it is asked for.
*/

// memoryFactor is the ratio of a model's memory to the size of its files: TensorFlow
// Serving's estimate.
const memoryFactor = 1.2

// modelBytes estimates the memory of the model in a folder.
func modelBytes(dir string) int64 {
	size := int64(0)
	if remote.IsURL(dir) {
		for o, err := range remote.Default.List(context.Background(), dir+"/") {
			if err != nil {
				break // loading fails
			}
			size += o.Size
		}
		return int64(memoryFactor * float64(size))
	}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		return nil // an unreadable file fails when the model is loaded
	})
	return int64(memoryFactor * float64(size))
}

// idle reports whether a version waits for its first request.
func (v *Version) idle() bool { return v.onDemand && v.state == Start }

// served reports whether requests for the version are taken: it is available, or is loaded for
// them.
func (v *Version) served() bool {
	return v.state == Available || v.onDemand && (v.state == Start || v.state == Loading)
}

// tryAcquire acquires a version. It returns false while an on-demand version is not
// loaded yet. The caller holds the lock.
func tryAcquire(s *Server, spec ModelSpec) (v *Version, there bool, err error) {
	if spec.Name == "" {
		return nil, false, invalid("the request names no model")
	}
	if s.closed {
		return nil, false, millrace.Errorf(millrace.ErrClosed, "the server is closing")
	}
	if v, err = s.find(spec); err != nil {
		return nil, false, err
	}
	if err := s.options.admit(s.acquired); err != nil {
		return nil, false, err
	}
	switch v.state {
	case Available:
		v.used = time.Now()
		s.acquired++
		v.refs++
		return v, true, nil
	case Start:
		err = wake(s, v)
	}
	return v, false, err
}

// wake begins to load an idle version, or to make room for it. The caller holds the lock.
func wake(s *Server, v *Version) error {
	limit := s.options.ModelMemory
	if v.size > limit {
		return millrace.Errorf(millrace.ErrLimit, "model %q, version %d, takes about %d bytes, and models may take %d", v.Name, v.Number, v.size, limit)
	}
	free := limit - s.modelMemory
	if v.size <= free {
		s.modelMemory += v.size
		launch(s, s.models[v.Name], v, 0)
		return nil
	}
	for _, m := range s.models {
		for _, other := range m.versions {
			if other.onDemand && other.state == Unloading {
				free += other.size
			}
		}
	}
	for _, other := range unused(s) {
		if free >= v.size {
			break
		}
		s.options.Logger.Info("make room", slog.String("model", other.Name), slog.Int64("version", other.Number), slog.String("for", v.Name))
		free += other.size
		other.setState(Unloading, nil)
		other.release()
	}
	if free < v.size {
		return millrace.Errorf(millrace.ErrOverloaded, "the models in use take the memory of models (%d bytes); try again later", limit)
	}
	return nil
}

// unused returns the versions that are loaded and have no requests, the least recently used
// first.
func unused(s *Server) []*Version {
	var all []*Version
	for _, m := range s.models {
		for _, v := range m.versions {
			if v.onDemand && v.state == Available && v.refs == 1 {
				all = append(all, v)
			}
		}
	}
	slices.SortFunc(all, func(a, b *Version) int {
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Number, b.Number))
	})
	return all
}

// newIdle returns a version that waits for its first request.
func newIdle(s *Server, m *model, n int64, path string) *Version {
	v := &Version{Name: m.config.Name, Number: n, path: path, config: m.config, answers: m.answers, server: s, aspired: true, onDemand: true, size: modelBytes(path)}
	v.setState(Start, nil)
	return v
}
