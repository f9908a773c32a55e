package serving

import (
	"context"
	"math/rand/v2"
	"time"

	"millrace"
	"millrace/serving/batching"
	"millrace/tfbridge"
)

/*
Traffic between the versions of a model

	           Canary {stable: 95, canary: 5}
	request ----+--- 95% ---> version of the label stable ---> answer
	            +---  5% ---> version of the label canary ---> answer
	            |
	            +--- Shadow: a copy of some requests ---> version of a label ---> dropped

A request that names a version or a label gets that one. Shadow copies wait behind all other
requests, take their memory from the budget of requests, and are dropped when there are more
than maxShadows: they never delay or fail what clients asked.
*/

// maxShadows is how many shadow copies may run or wait at a time.
const maxShadows = 16

// shadowTime is how long a shadow copy may wait and run.
const shadowTime = 30 * time.Second

// shadow lets another version run a copy of a request, if the configuration has a
// shadow. It does not wait for the run.
func shadow(v *Version, signature string, inputs map[string]any) {
	c := v.config.Shadow
	if c == nil || rand.Float64() >= c.Share {
		return
	}
	s := v.server
	target, counts := acquireShadow(s, v, c.Label)
	if target == nil {
		return
	}
	if s.shadows.Add(1) > maxShadows {
		s.shadows.Add(-1)
		releaseShadow(target)
		counts.dropped.Add(1)
		return
	}
	lease := s.Memory.Lease()
	copies, err := copyInputs(inputs, lease.Grow)
	if err != nil {
		counts.dropped.Add(1)
	}
	end := func() {
		for _, t := range copies {
			t.Close()
		}
		lease.Close()
		releaseShadow(target)
		s.shadows.Add(-1)
	}
	if err != nil {
		end()
		return
	}
	s.work.Go(func() {
		defer end()
		ctx, cancel := context.WithTimeout(batching.WithPriority(s.ctx, batching.LowPriority), shadowTime)
		defer cancel()
		values := make(map[string]any, len(copies))
		for name, t := range copies {
			values[name] = t
		}
		outputs, err := target.predict(ctx, signature, values, nil)
		for _, t := range outputs {
			t.Close()
		}
		if err != nil {
			counts.failed.Add(1)
		} else {
			counts.ran.Add(1)
		}
	})
}

// acquireShadow returns the version of a label, nil if that is v itself or not
// available, and the counter of the copies.
func acquireShadow(s *Server, v *Version, label string) (*Version, *shadows) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.models[v.Name]
	if m == nil || s.closed {
		return nil, nil
	}
	target := m.labelled(label)
	if target == nil || target == v || target.state != Available {
		return nil, nil
	}
	target.refs++
	return target, &m.shadows
}

// releaseShadow releases the version of a shadow copy.
func releaseShadow(v *Version) {
	v.server.mu.Lock()
	defer v.server.mu.Unlock()
	v.release()
}

// copyInputs returns copies of the tensors of a request. Inputs that are not tensors cannot be
// copied.
func copyInputs(inputs map[string]any, grow func(int64) error) (map[string]*tfbridge.Tensor, error) {
	copies := map[string]*tfbridge.Tensor{}
	for name, value := range inputs {
		t, ok := value.(*tfbridge.Tensor)
		if !ok {
			return copies, millrace.Errorf(millrace.ErrModel, "input %q is a Go value", name)
		}
		if err := grow(t.ByteSize()); err != nil {
			return copies, err
		}
		c, err := tfbridge.AllocateTensor(t.DataType(), t.Shape())
		if err != nil {
			return copies, err
		}
		copies[name] = c
		if err := c.CopyElements(0, t, 0, t.NumElements()); err != nil {
			return copies, err
		}
	}
	return copies, nil
}

// Traffic has the counts of shadow copies and caches.
type Traffic struct {
	ShadowRan, ShadowFailed int64 // shadow copies
	ShadowDropped           int64 // because there were too many, or no memory for requests
	CacheHits, CacheMisses  int64 // requests to models with a cache
	CacheBytes              int64
}

// TrafficOf returns the counts of a server's models, by name. They restart at 0 when a
// model is removed from the configuration and added again.
func TrafficOf(s *Server) map[string]Traffic {
	all := map[string]Traffic{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, m := range s.models {
		t := Traffic{ShadowRan: m.shadows.ran.Load(), ShadowFailed: m.shadows.failed.Load(), ShadowDropped: m.shadows.dropped.Load()}
		if m.answers != nil {
			t.CacheHits, t.CacheMisses, t.CacheBytes = m.answers.Counts()
		}
		all[name] = t
	}
	return all
}
