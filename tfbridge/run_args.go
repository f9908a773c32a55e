//go:build cgo

package tfbridge

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unsafe"

	"millrace"
)

// cRunArgs are the arguments of a run in the order of the C call. The same feeds always
// have the same order. TensorFlow caches a prepared run by its feeds in order, and
// would prepare one for every order.
type cRunArgs struct {
	feeds   []Output
	values  []*Tensor // values of the feeds
	fetches []Output
	targets []*Operation
}

// newCRunArgs sorts the feeds. It checks nothing.
func newCRunArgs(feeds map[Output]*Tensor, fetches []Output, targets []*Operation) *cRunArgs {
	a := &cRunArgs{
		feeds:   slices.SortedFunc(maps.Keys(feeds), compareOutputs),
		values:  make([]*Tensor, len(feeds)),
		fetches: fetches,
		targets: targets,
	}
	for i, o := range a.feeds {
		a.values[i] = feeds[o]
	}
	return a
}

// compareOutputs orders outputs by the addresses of their operations, which
// needs no call into C, and by index.
func compareOutputs(a, b Output) int {
	return cmp.Or(cmp.Compare(a.Op.address(), b.Op.address()), cmp.Compare(a.Index, b.Index))
}

// address returns the address of the C operation, 0 for nil.
func (o *Operation) address() uintptr {
	if o == nil {
		return 0
	}
	return uintptr(unsafe.Pointer(o.c))
}

// explain adds to a run's error the values whose shapes differ from their feeds.
func (c *Callable) explain(err error, values []*Tensor) error {
	var e *millrace.Error
	if !errors.As(err, &e) || e.Class == millrace.ErrCanceled || e.Class == millrace.ErrClosed {
		return err
	}
	strict := Callable{feeds: c.feeds}
	mismatch := strict.checkValues(values)
	if mismatch == nil {
		return err
	}
	return &millrace.Error{Class: millrace.ErrModel, Record: -1, Offset: -1, Code: e.Code, Err: fmt.Errorf("%w; %w", mismatch, err)}
}
