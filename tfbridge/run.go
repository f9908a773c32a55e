package tfbridge

// #include "capi.h"
import "C"

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"millrace"
)

// run is one run in flight. It holds references to its session and values, so
// that they outlive it if the caller closes them.
type run struct {
	c      *Callable
	values []*Tensor
	ptrs   []*C.TF_Tensor // tensors of the values, then of the results
	slot   limiter        // the limiter that gave it a slot

	options   []byte    // the options of c with a timeout; nil: the options of c
	abandoned time.Time // when its caller stopped waiting; guarded by the lock of the session's list

	next, previous *run // links in the session's list of runs in flight
}

// begin takes references to the session and the values.
func (c *Callable) begin(values []*Tensor) (*run, error) {
	if !c.s.h.hold() {
		return nil, errClosed("session")
	}
	r, _ := c.s.runs.Get().(*run)
	if r == nil {
		r = new(run)
	}
	r.c = c
	c.s.inFlight.add(r)
	if n := len(values) + len(c.out); cap(r.ptrs) >= n {
		r.ptrs = r.ptrs[:n]
	} else {
		r.ptrs = make([]*C.TF_Tensor, n)
	}
	for i, t := range values {
		if !t.h.hold() {
			r.values = values[:i]
			r.end()
			return nil, errUnusable("tensor", t)
		}
		r.ptrs[i] = t.h.p
	}
	r.values = values
	return r, nil
}

// longestTimeout is the longest timeout that is passed to TensorFlow.
const longestTimeout = 365 * 24 * time.Hour

// setTimeout gives TensorFlow the deadline of the run's context, if the run was
// prepared with that option. A shorter timeout in the options takes precedence.
func (r *run) setTimeout(ctx context.Context) {
	deadline, ok := ctx.Deadline()
	if !ok || !r.c.deadline {
		return
	}
	left := max(time.Until(deadline), time.Millisecond)
	if left > longestTimeout || r.c.timeout > 0 && r.c.timeout <= left {
		return
	}
	if r.options == nil {
		r.options = slices.Clone(r.c.options)
	}
	r.options = appendVarint(r.options, runTimeout, uint64(milliseconds(left)))
}

// end releases the references.
func (r *run) end() {
	for _, t := range r.values {
		t.h.release()
	}
	r.values = nil
	s := r.c.s
	s.inFlight.remove(r)
	s.h.release()
}

// execute makes the run and stores the results in out, which has their number. If
// metadata is not nil it receives TensorFlow's record of the run.
func (r *run) execute(out []*Tensor, metadata *C.TF_Buffer) error {
	defer r.end()
	c, n, options := r.c, len(r.values), r.c.options
	if r.options != nil {
		options = r.options
	}
	defer runtime.KeepAlive(c)
	st := C.mr_run(c.s.h.p, unsafe.Pointer(unsafe.SliceData(options)), C.size_t(len(options)),
		unsafe.SliceData(c.in), unsafe.SliceData(r.ptrs), C.int(n),
		unsafe.SliceData(c.out), unsafe.SliceData(r.ptrs[n:]), C.int(len(c.out)),
		unsafe.SliceData(c.targets), C.int(len(c.targets)), metadata)
	if st != nil {
		defer C.TF_DeleteStatus(st)
		return c.s.wrapRun(statusError("TF_SessionRun", st))
	}
	for i, p := range r.ptrs[n:] {
		out[i] = adoptTensor(p)
	}
	return nil
}

// run makes the run in its slot, and gives the slot back.
func (r *run) run() ([]*Tensor, error) {
	defer r.slot.release()
	out := make([]*Tensor, len(r.c.out))
	if err := r.execute(out, nil); err != nil {
		return nil, err
	}
	return out, nil
}

// result is the outcome of a run.
type result struct {
	out []*Tensor
	err error
}

// interruptGrace is the time that an interrupted run has to end before its caller stops
// waiting. A run that waits at a queue ends at once; one that computes may need longer.
const interruptGrace = time.Second

// runAsync calls execute in a goroutine and waits until it returns or ctx is done. Then
// it interrupts the run, if there is a guard, and waits until it has ended: a dequeue
// that is still waiting would take the next element, which would be lost. A run that
// takes longer than interruptGrace, and a run without a guard, is left to the
// goroutine, which closes the late results and releases the guard.
//
//	caller                           goroutine
//	------                           ---------
//	wait for finished or ctx.Done    execute(r)
//	   | ctx is done                    |
//	   v                                |
//	g.interrupt()                       v
//	wait for finished <------------- results, or the failure; release the guard
//	   | it takes too long
//	   v
//	close(abandoned) --------------> later: close results, release the guard
//	   |
//	   v
//	return ErrCanceled
func runAsync(ctx context.Context, r *run, execute func(*run) ([]*Tensor, error), g *guarded) ([]*Tensor, error) {
	finished, abandoned := make(chan result), make(chan struct{})
	interrupted := false // written before the caller receives or closes abandoned
	go func() {
		var res result
		res.out, res.err = execute(r)
		select {
		case finished <- res:
		case <-abandoned:
			closeAll(res.out)
		}
		g.release(interrupted || res.err != nil)
	}()
	select {
	case res := <-finished:
		return res.out, errLate(ctx, r, res.err, g)
	case <-ctx.Done():
	}
	select {
	case res := <-finished: // both happened; the run's elements must not be lost
		return res.out, errLate(ctx, r, res.err, g)
	default:
	}
	if g != nil {
		interrupted = true
		g.interrupt()
		timer := time.NewTimer(interruptGrace)
		defer timer.Stop()
		select {
		case res := <-finished:
			if res.err == nil { // the run was faster than the interruption
				return res.out, nil
			}
			return nil, millrace.Canceled(ctx, g.describe())
		case <-timer.C:
		}
	}
	list := &r.c.s.inFlight
	list.abandon(r)
	close(abandoned)
	return nil, millrace.Canceled(ctx, g.describe())
}

// errLate returns the error of a run that ended before its context was done. If
// TensorFlow stopped it at the context's deadline, the error is the context's.
func errLate(ctx context.Context, r *run, err error, g *guarded) error {
	if err == nil || r.options == nil || !errors.Is(err, DeadlineExceeded) {
		return err
	}
	if deadline, _ := ctx.Deadline(); time.Now().Before(deadline) {
		return err
	}
	e := millrace.Errorf(millrace.ErrCanceled, "%w", context.DeadlineExceeded)
	e.Code = int(DeadlineExceeded)
	if where := g.describe(); where != "" {
		e.Msg = where + " canceled: " + e.Msg
	}
	return e
}

// inPlace is the key of a context's value.
type inPlace struct{}

// InPlace returns a context whose runs are made in the calling goroutine, for short runs that
// are made often. Their operations run there too, unless the run may loop or wait. When it ends, TensorFlow stops a run that can be interrupted, but Run returns
// only when the run has ended. Meanwhile [Session.Abandoned] lists the run.
func InPlace(ctx context.Context) context.Context { return context.WithValue(ctx, inPlace{}, true) }

// runInPlace is runAsync for contexts from InPlace.
func runInPlace(ctx context.Context, r *run, execute func(*run) ([]*Tensor, error), g *guarded) ([]*Tensor, error) {
	var ended, interrupted chan struct{} // made for runs that have a guard only
	if g != nil {
		ended, interrupted = make(chan struct{}), make(chan struct{})
	}
	stop := context.AfterFunc(ctx, func() {
		if g == nil {
			r.c.s.inFlight.abandon(r)
			return
		}
		defer close(interrupted)
		g.interrupt()
		timer := time.NewTimer(interruptGrace)
		defer timer.Stop()
		select {
		case <-ended:
		case <-timer.C:
			r.c.s.inFlight.abandon(r)
		}
	})
	out, err := execute(r)
	late := !stop()
	if late && g != nil {
		close(ended)
		<-interrupted
		if err != nil {
			err = millrace.Canceled(ctx, g.describe())
		}
	}
	g.release(late || err != nil)
	return out, errLate(ctx, r, err, g)
}

// runLoop makes the run n times in a loop in C. Benchmarks compare with it.
func (c *Callable) runLoop(n int, values []*Tensor) error {
	r, err := c.begin(values)
	if err != nil {
		return err
	}
	defer r.end()
	defer runtime.KeepAlive(c)
	st := C.mr_run_bare(C.int64_t(n), c.s.h.p, unsafe.Pointer(unsafe.SliceData(c.options)), C.size_t(len(c.options)),
		unsafe.SliceData(c.in), unsafe.SliceData(r.ptrs), C.int(len(values)), unsafe.SliceData(c.out), C.int(len(c.out)))
	if st != nil {
		defer C.TF_DeleteStatus(st)
		return statusError("TF_SessionRun", st)
	}
	return nil
}
