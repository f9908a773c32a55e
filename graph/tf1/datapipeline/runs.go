package datapipeline

import (
	"context"
	"sync"

	"millrace/tfbridge"
)

// runs are the runs that a stage repeats in one session, prepared once. They wait for other
// runs, so they can be interrupted and do not count toward the limit of concurrent runs.
// The zero value has no runs.
type runs struct {
	mu      sync.Mutex
	session *tfbridge.Session
	made    map[string]*tfbridge.Callable
	ready   bool // the runs never wait: they cannot be interrupted, and stay in the calling thread
}

// runSpec lists the feeds, fetches and targets of a run.
type runSpec struct {
	feeds, fetches []tfbridge.Output
	targets        []*tfbridge.Operation
}

// prepare returns the run with a name. The first call for a session prepares it.
func (r *runs) prepare(session *tfbridge.Session, name string, spec runSpec) (*tfbridge.Callable, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session != session {
		r.session, r.made = session, map[string]*tfbridge.Callable{}
	}
	if c, ok := r.made[name]; ok {
		return c, nil
	}
	c, err := session.PrepareRun(spec.feeds, spec.fetches, spec.targets, &tfbridge.RunOptions{Interrupt: !r.ready, Inline: r.ready, Unlimited: true})
	if err != nil {
		return nil, err
	}
	r.made[name] = c
	return c, nil
}

// context returns the context of a run whose caller has the context ctx.
func (r *runs) context(ctx context.Context) context.Context {
	if r.ready {
		return context.Background()
	}
	return ctx
}

// do makes a run without fetches.
func (r *runs) do(ctx context.Context, session *tfbridge.Session, name string, values []*tfbridge.Tensor, spec runSpec) error {
	c, err := r.prepare(session, name, spec)
	if err != nil {
		return err
	}
	_, err = c.Run(ctx, values)
	return err
}

// test makes a run that fetches one bool.
func (r *runs) test(ctx context.Context, session *tfbridge.Session, name string, values []*tfbridge.Tensor, spec runSpec) (bool, error) {
	c, err := r.prepare(session, name, spec)
	if err != nil {
		return false, err
	}
	return fetchOne[bool](ctx, c, values)
}

// number makes a run that fetches one int32.
func (r *runs) number(ctx context.Context, session *tfbridge.Session, name string, of tfbridge.Output) (int, error) {
	c, err := r.prepare(session, name, runSpec{fetches: []tfbridge.Output{of}})
	if err != nil {
		return 0, err
	}
	n, err := fetchOne[int32](ctx, c, nil)
	return int(n), err
}

// fetchOne makes a run that fetches a scalar.
func fetchOne[T any](ctx context.Context, c *tfbridge.Callable, values []*tfbridge.Tensor) (scalar T, err error) {
	fetched, err := c.Run(ctx, values)
	if err != nil {
		return scalar, err
	}
	defer fetched[0].Close()
	return scalarOf[T](fetched[0])
}
