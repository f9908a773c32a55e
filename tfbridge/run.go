package tfbridge

// #include "capi.h"
import "C"

import (
	"context"
	"runtime"
	"time"
	"unsafe"

	"millrace"
)

// run is one run in flight. It holds references to its session and values, so
// that they outlive it if the caller closes them.
type run struct {
	c      *Callable
	values []*Tensor
	ptrs   []*C.TF_Tensor // of the values, then of the results
	slot   limiter        // the limiter that gave it a slot

	next, previous *run // in the session's list of runs in flight
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

// execute makes the run and stores the results in out, which has their number.
// If metadata is not nil it receives what TensorFlow recorded.
func (r *run) execute(out []*Tensor, metadata *C.TF_Buffer) error {
	defer r.end()
	c, n := r.c, len(r.values)
	defer runtime.KeepAlive(c)
	st := C.mr_run(c.s.h.p, unsafe.Pointer(unsafe.SliceData(c.options)), C.size_t(len(c.options)),
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

// interruptGrace is how long an interrupted run may take to end before its caller
// goes on without it. A run that waits at a queue ends at once; one that computes
// may need longer.
const interruptGrace = time.Second

// runAsync calls run in a goroutine and waits until it returns or ctx is done.
// Then it interrupts the run, if there is a guard, and waits until it has ended:
// a dequeue that is still waiting would take the next element, which nobody would
// ever see. A run that takes longer than interruptGrace, and one without a guard, is
// left to the goroutine, which closes the late results and releases the guard.
//
//	caller                           goroutine
//	------                           ---------
//	wait for finished or ctx.Done    run()
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
func runAsync(ctx context.Context, run func() ([]*Tensor, error), g *guarded) ([]*Tensor, error) {
	finished, abandoned := make(chan result), make(chan struct{})
	interrupted := false // written before the caller receives or closes abandoned
	go func() {
		var res result
		res.out, res.err = run()
		select {
		case finished <- res:
		case <-abandoned:
			closeAll(res.out)
		}
		g.release(interrupted || res.err != nil)
	}()
	select {
	case res := <-finished:
		return res.out, res.err
	case <-ctx.Done():
	}
	select {
	case res := <-finished: // both happened; elements that the run took must not be lost
		return res.out, res.err
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
	close(abandoned)
	return nil, millrace.Canceled(ctx, g.describe())
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
