package remote

import (
	"context"
	"errors"
	"sync"
)

// # Ending reads of TensorFlow's threads
//
// An operation that reads a file knows no context. A run whose context ends waits until its
// operations have returned, and they may wait for a server. So each run says by a [Use]
// which files it reads, and ends their reads when its context does. Another run may read
// the same files: a Use leaves those alone.

// errInterrupted is the cause of a read that [Use.Interrupt] has ended.
var errInterrupted = errors.New("the run that reads the file has ended")

// Use says that a run reads files. Its methods may be called concurrently.
type Use struct {
	c     *Client
	names []string
	once  sync.Once
}

// Use returns a Use of files, which the caller closes.
func (c *Client) Use(names []string) *Use {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		c.users[name]++
	}
	return &Use{c: c, names: names}
}

// Interrupt ends the reads in flight of files that [Client.OpenShared] has opened and no
// other Use has. Later reads of the same files work.
func (u *Use) Interrupt() {
	u.c.mu.Lock()
	defer u.c.mu.Unlock()
	for _, name := range u.names {
		if s := u.c.shared[name]; s != nil && u.c.users[name] == 1 {
			s.cancel(errInterrupted)
			delete(u.c.shared, name)
		}
	}
}

// Close interrupts the reads and ends the Use.
func (u *Use) Close() {
	u.once.Do(func() {
		u.Interrupt()
		u.c.mu.Lock()
		defer u.c.mu.Unlock()
		for _, name := range u.names {
			if u.c.users[name]--; u.c.users[name] == 0 {
				delete(u.c.users, name)
			}
		}
	})
}

// OpenShared is like Open for callers without a context: a [Use] ends the reads in flight.
func (c *Client) OpenShared(name string) (*File, error) {
	f, err := c.Open(c.sharedContext(name), name)
	if err == nil {
		f.ctx = func() context.Context { return c.sharedContext(name) }
	}
	return f, err
}

// sharedContext returns the context of reads that begin now.
func (c *Client) sharedContext(name string) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.shared[name]
	if s == nil {
		s = &shared{}
		s.ctx, s.cancel = context.WithCancelCause(context.Background())
		c.shared[name] = s
	}
	return s.ctx
}
