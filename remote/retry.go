package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"time"

	"millrace"
)

// The pauses between requests that yield nothing.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 15 * time.Second
	stallWeight  = 3 // a request that waits for its whole deadline counts as several
)

// errStalled is the cause of a request that yielded nothing for [Options].Idle.
var errStalled = errors.New("the server did not answer in time")

// trial counts the requests for one read.
type trial struct {
	client *Client
	barren int // weight of the requests since the last byte
	total  int // requests
}

// again waits before the next request. It returns an error if there is to be none.
func (t *trial) again(ctx context.Context, err error) error {
	var f *Failure
	answered := errors.As(err, &f)
	if answered && !f.Retry {
		return err
	}
	t.barren++
	if errors.Is(err, errStalled) {
		t.barren += stallWeight - 1
	}
	if t.barren >= t.client.attempts {
		return err
	}
	pause := min(firstPause<<min(t.barren-1, 20), longestPause)
	pause = time.Duration(float64(pause) * (0.75 + rand.Float64()/2))
	if answered && f.After > pause {
		pause = min(f.After, 2*longestPause)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// retry carries out a request until it succeeds or need not be repeated.
func (c *Client) retry(ctx context.Context, name string, request func(*watch) error) error {
	t := trial{client: c}
	for {
		t.total++
		w := c.watch(ctx)
		err := w.cause(request(w))
		w.stop()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return c.failed(ctx, name, -1, t.total, err)
		}
		if err := t.again(ctx, err); err != nil {
			return c.failed(ctx, name, -1, t.total, err)
		}
	}
}

// watch ends a request that yields nothing.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
}

func (c *Client) watch(ctx context.Context) *watch {
	w := &watch{idle: c.idle}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(c.idle, func() { w.cancel(errStalled) })
	return w
}

// progress starts the deadline again.
func (w *watch) progress() { w.timer.Reset(w.idle) }

// read makes each read of r start the deadline again.
func (w *watch) read(r io.Reader) io.Reader { return &watchedReader{r, w} }

type watchedReader struct {
	io.Reader
	w *watch
}

func (r *watchedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.w.progress()
	}
	return n, err
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// cause returns the deadline in place of the error that it led to.
func (w *watch) cause(err error) error {
	if err != nil && errors.Is(context.Cause(w.ctx), errStalled) {
		return errStalled
	}
	return err
}

// failed returns the error of requests that failed. offset is -1 where it does not apply.
func (c *Client) failed(ctx context.Context, name string, offset int64, attempts int, err error) error {
	if ctx.Err() != nil {
		e := millrace.Canceled(ctx, "reading")
		e.File, e.Offset = public(name), offset
		return e
	}
	var classed *millrace.Error
	if errors.As(err, &classed) {
		return err
	}
	if errors.Is(err, ErrChanged) {
		c.forget(name)
	}
	e := millrace.Errorf(millrace.ErrIO, "%w", withoutURL(err))
	if attempts > 1 {
		e.Msg = fmt.Sprintf("%s (%d attempts)", e.Msg, attempts)
	}
	e.Op, e.File, e.Offset = "read", public(name), offset
	return e
}

// withoutURL returns the cause of an error of package net/http, whose text has the URL with
// its query.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
