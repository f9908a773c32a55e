// Package budget limits the memory that the requests of a server take together: their
// bodies, their tensors and their answers.
//
// A request takes a lease, grows it before it allocates, and closes it at its end:
//
//	lease := b.Lease()
//	defer lease.Close()
//	if err := lease.Grow(size); err != nil {
//		return err // refused; the client may try again later
//	}
//
// The first bytes of a request come from a share that long requests cannot use, so
// short requests are served while long ones fill the rest.
package budget

import (
	"math"
	"runtime/debug"
	"sync/atomic"
	"time"

	"millrace"
	"millrace/internal/base/machine"
	"millrace/tfbridge"
)

// short is the largest part of a lease that may come from the share for short requests,
// and shortShare is that share as a part of the budget.
const short, shortShare = 64 << 10, 8

// Budget is the memory that requests may take. Many goroutines may use it.
type Budget struct {
	limit int64
	long  int64           // the limit for the bytes of a lease after its first ones
	full  *millrace.Error // one error for all refusals: callers cache the answer to it

	used, refused atomic.Int64
	burst         atomic.Bool // much has been used, and the freed memory is not yet returned to the system
}

// New returns a budget of n bytes. 0 stands for [DefaultLimit]. With a negative limit
// the budget only counts.
func New(limit int64) *Budget {
	switch {
	case limit == 0:
		limit = DefaultLimit()
	case limit < 0:
		limit = math.MaxInt64
	}
	b := &Budget{limit: limit, long: limit - limit/shortShare}
	b.full = millrace.Errorf(millrace.ErrOverloaded, "the requests in flight take the %d bytes of memory that they may take together; try again later", limit)
	b.full.Code = int(tfbridge.ResourceExhausted)
	return b
}

// DefaultLimit returns a quarter of the machine's memory, or of what its control groups
// allow the process, whichever is less.
func DefaultLimit() int64 {
	if n := machine.MaxMemory(); n != machine.Unlimited {
		return n / 4
	}
	return 4 << 30
}

// Limit returns the number of bytes that requests may take, math.MaxInt64 if there is
// no limit.
func (b *Budget) Limit() int64 { return b.limit }

// InUse returns how many bytes requests take now.
func (b *Budget) InUse() int64 { return b.used.Load() }

// Refused returns how often a request was refused memory.
func (b *Budget) Refused() int64 { return b.refused.Load() }

// Lease returns a lease of 0 bytes.
func (b *Budget) Lease() Lease { return Lease{budget: b} }

// A Lease is the memory that one request takes. One goroutine at a time may use it. The
// zero value belongs to no budget and has no limit.
type Lease struct {
	budget *Budget
	held   int64
}

// Grow takes n bytes more. It returns an error of class millrace.ErrOverloaded if other
// requests have taken the memory, and of class millrace.ErrLimit if the bytes would not
// fit even without other requests. The code of both is ResourceExhausted.
func (l *Lease) Grow(n int64) error {
	b := l.budget
	if b == nil {
		return nil
	}
	for {
		used := b.used.Load()
		if err := l.check(used, n); err != nil {
			b.refused.Add(1)
			return err
		}
		if b.used.CompareAndSwap(used, used+n) {
			break
		}
	}
	l.held += n
	if b.used.Load() > burstBytes && !b.burst.Load() {
		b.burst.Store(true)
	}
	return nil
}

// Check returns the error that Grow would return, and takes no memory. It is for sizes
// that a client only claims.
func (l *Lease) Check(n int64) error {
	if l.budget == nil {
		return nil
	}
	err := l.check(l.budget.used.Load(), n)
	if err != nil {
		l.budget.refused.Add(1)
	}
	return err
}

// check returns an error if n more bytes do not fit when used bytes are taken.
func (l *Lease) check(used, n int64) error {
	b := l.budget
	most := b.limit
	if n > short-l.held {
		most = b.long
	}
	if n <= most-used {
		return nil
	}
	if n > b.long-l.held {
		return millrace.Errorf(millrace.ErrLimit, "the request takes at least %d bytes of memory, and %d are allowed; send less at a time", l.held+n, b.long)
	}
	return b.full
}

// Shrink returns n bytes to the budget.
func (l *Lease) Shrink(n int64) {
	if l.budget == nil {
		return
	}
	l.held -= n
	left := l.budget.used.Add(-n)
	if n > 0 && l.budget.burst.Load() {
		l.budget.trim(left)
	}
}

// Split moves n bytes of l to a new lease. That lease ends separately: an answer may
// outlive the work on its request.
func (l *Lease) Split(n int64) *Lease {
	l.held -= n
	return &Lease{budget: l.budget, held: n}
}

// Held returns how many bytes the lease has.
func (l *Lease) Held() int64 { return l.held }

// Close returns all bytes to the budget. It returns nil, and may be called again.
func (l *Lease) Close() error {
	l.Shrink(l.held)
	return nil
}

// A use of burstBytes is a burst. trimDelay after its end the memory is returned to the
// system.
const burstBytes, trimDelay = 8 << 20, time.Second

// trim returns free memory to the system a while after a burst. The collector would run
// only when as much again has been allocated, or after two minutes. Until then a server
// without requests would keep the memory of the last ones.
func (b *Budget) trim(left int64) {
	if left < burstBytes && b.burst.CompareAndSwap(true, false) {
		time.AfterFunc(trimDelay, debug.FreeOSMemory)
	}
}
