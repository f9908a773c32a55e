package tfbridge

// #include "capi.h"
import "C"

import (
	"context"
	"runtime"
	"unsafe"
)

// run is one run under way. It holds its session and its values, so that they
// outlive it whoever closes them.
type run struct {
	c      *Callable
	values []*Tensor
	ptrs   []*C.TF_Tensor // of the values, then of the results
	place  limiter        // where it blocks
}

// begin takes hold of what a run needs.
func (c *Callable) begin(values []*Tensor) (*run, error) {
	if !c.s.h.hold() {
		return nil, errClosed("session")
	}
	r, _ := c.s.runs.Get().(*run)
	if r == nil {
		r = new(run)
	}
	r.c = c
	if n := len(values) + len(c.out); cap(r.ptrs) >= n {
		r.ptrs = r.ptrs[:n]
	} else {
		r.ptrs = make([]*C.TF_Tensor, n)
	}
	for i, t := range values {
		if !t.h.hold() {
			r.values = values[:i]
			r.end()
			return nil, errClosed("tensor")
		}
		r.ptrs[i] = t.h.p
	}
	r.values = values
	return r, nil
}

// end lets go.
func (r *run) end() {
	for _, t := range r.values {
		t.h.release()
	}
	r.values = nil
	r.c.s.h.release()
}

// into makes the run and puts the results into a slice as long as they are.
// What is recorded of it goes to metadata, unless that is nil.
func (r *run) into(out []*Tensor, metadata *C.TF_Buffer) error {
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

// run makes the run, in a place that the limiter gave.
func (r *run) run() ([]*Tensor, error) {
	defer r.place.release()
	out := make([]*Tensor, len(r.c.out))
	if err := r.into(out, nil); err != nil {
		return nil, err
	}
	return out, nil
}

// result is what a run came to.
type result struct {
	out []*Tensor
	err error
}

// beside calls run in a goroutine and waits for it or for ctx. Results that
// come too late are closed. A run that was left is interrupted if it has a
// guard.
func beside(ctx context.Context, run func() ([]*Tensor, error), g *guarded) ([]*Tensor, error) {
	done, left, stopped := make(chan result), make(chan struct{}), make(chan struct{})
	go func() {
		var res result
		res.out, res.err = run()
		select {
		case done <- res:
			g.back(res.err != nil)
		case <-left:
			closeAll(res.out)
			<-stopped
			g.back(true)
		}
	}()
	select {
	case res := <-done:
		return res.out, res.err
	case <-ctx.Done():
	}
	select {
	case res := <-done: // both happened; what a run took from an iterator must not be lost
		return res.out, res.err
	default:
		close(left)
		g.interrupt()
		close(stopped)
		return nil, errCanceled(ctx)
	}
}

// bare makes the run n times in a loop in C, for benchmarks to compare with.
func (c *Callable) bare(n int, values []*Tensor) error {
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
