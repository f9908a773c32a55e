package remote

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/url"
	"time"
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
	attempts int // requests in a row that yield nothing before reading fails
	barren   int // weight of the requests since the last byte
	total    int // requests
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
	if t.barren >= t.attempts {
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

// watch ends a request that yields nothing.
type watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
}

// newWatch returns the watch of a request.
func newWatch(ctx context.Context, idle time.Duration) *watch {
	w := &watch{idle: idle}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	w.timer = time.AfterFunc(idle, func() { w.cancel(errStalled) })
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

// withoutURL returns the cause of an error of package net/http, whose text has the URL with
// its query.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// errShort is the error of an answer with fewer bytes than it has promised.
var errShort = errors.New("the answer is shorter than promised")
