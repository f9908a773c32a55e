package remote

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// # Ending reads of TensorFlow's threads
//
// An operation that reads a file knows no context. A run whose context ends waits until its
// operations have returned, and they may wait for a server. After a fault they open the file
// again, to describe the record. So each loader says by a [Use] which files its graph reads.
// When a run ends, its reads fail at once, and so do all later ones until the next run
// begins. Another loader may read the same files: a Use leaves those alone.
//
// The files of a Use keep their version, too: an object that is replaced is an error even
// where a file is opened again.

// errInterrupted is the cause of a read that [Use.Interrupt] has ended.
var errInterrupted = errors.New("the run that reads the file has ended")

// Use says that a graph reads files. Its methods may be called concurrently.
type Use struct {
	c     *Client
	names []string
	run   int  // number of runs that have begun; guarded by c.mu
	ended bool // the last one has ended
	once  sync.Once
}

// Use returns a Use of files. The caller closes it when the graph is closed.
func (c *Client) Use(names []string) *Use {
	u := &Use{c: c, names: names, ended: true}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		c.users[name] = append(c.users[name], u)
	}
	return u
}

// Begin says that a run begins, and that it ends when end is called or ctx is done. Then the
// reads fail of files that [Client.OpenShared] has opened and no other run reads, until the
// next run begins.
func (u *Use) Begin(ctx context.Context) (end func()) {
	u.c.mu.Lock()
	defer u.c.mu.Unlock()
	u.run++
	run := u.run
	u.ended = false
	for _, name := range u.names {
		u.c.unshare(name)
	}
	stop := context.AfterFunc(ctx, func() { u.interrupt(run) })
	return func() {
		stop()
		u.interrupt(run)
	}
}

// interrupt ends the reads of a run unless another one has begun.
func (u *Use) interrupt(run int) {
	u.c.mu.Lock()
	defer u.c.mu.Unlock()
	if u.run != run || u.ended {
		return
	}
	u.ended = true
	for _, name := range u.names {
		running := func(other *Use) bool { return !other.ended }
		if !slices.ContainsFunc(u.c.users[name], running) {
			u.c.share(name).cancel(errInterrupted)
		}
	}
}

// Close ends the Use. Readers without one can read the files again.
func (u *Use) Close() {
	u.once.Do(func() {
		u.c.mu.Lock()
		run := u.run
		u.c.mu.Unlock()
		u.interrupt(run)
		u.c.mu.Lock()
		defer u.c.mu.Unlock()
		for _, name := range u.names {
			i := slices.Index(u.c.users[name], u)
			if u.c.users[name] = slices.Delete(u.c.users[name], i, i+1); len(u.c.users[name]) == 0 {
				delete(u.c.users, name)
				delete(u.c.pinned, name)
				u.c.unshare(name)
			}
		}
	})
}

// unshare forgets a shared context that was canceled. c.mu is locked.
func (c *Client) unshare(name string) {
	if s := c.shared[name]; s != nil && s.ctx.Err() != nil {
		delete(c.shared, name)
	}
}

// OpenShared is like Open for callers without a context: a [Use] ends the reads in flight,
// and keeps the version.
func (c *Client) OpenShared(name string) (*File, error) {
	info, err := c.StatShared(name)
	if err != nil {
		return nil, err
	}
	o, err := c.acquire(name, info)
	if err != nil {
		return nil, err
	}
	return &File{o: o, ctx: func() context.Context { return c.sharedContext(name) }, window: 1}, nil
}

// StatShared returns what [Client.Known] does, or the version that the Uses of the object
// keep.
func (c *Client) StatShared(name string) (Info, error) {
	c.mu.Lock()
	info, ok := c.pinned[name]
	c.mu.Unlock()
	if ok {
		return info, nil
	}
	info, err := c.Known(c.sharedContext(name), name)
	if err != nil {
		return info, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, ok := c.pinned[name]; ok {
		return other, nil
	}
	if len(c.users[name]) > 0 {
		c.pinned[name] = info
	}
	return info, nil
}

// shared is the context of the reads in flight of TensorFlow's files of one name.
type shared struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// sharedContext returns the context of reads that begin now.
func (c *Client) sharedContext(name string) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.share(name).ctx
}

// share returns the shared context of a name. c.mu is locked.
func (c *Client) share(name string) *shared {
	s := c.shared[name]
	if s == nil {
		s = &shared{}
		s.ctx, s.cancel = context.WithCancelCause(context.Background())
		c.shared[name] = s
	}
	return s
}
