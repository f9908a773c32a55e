package tfbridge

// #include "callback.h"
import "C"

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"millrace"
)

// # Calling Go from TensorFlow's threads
//
// The question. An operation of a graph calls a Go function, which may block:
// on a channel, on the network, or on another run. TensorFlow executes
// operations in a few threads. How does the call get to Go and back, who owns
// the memory in between, and how does the function learn that its session
// closes?
//
// What does not work:
//
//   - A kernel that waits for the Go function holds one of TensorFlow's threads.
//     On two processors two waiting functions would stop the session.
//   - Go pointers in an operation's attributes: graphs are serialized, copied
//     and loaded in other processes.
//
// So C knows a Go function by a number, the attribute "id", and the kernel is
// asynchronous. One call, step by step:
//
//	TensorFlow's thread               Go
//	-------------------               --
//	go_compute (callback.c):
//	  takes the inputs
//	  moves the completion callback
//	  to an mr_call in C memory
//	  mrGoCall ---------------------> looks up the id; fn(call)
//	     <--------------------------- returns at once
//	  the thread is free              ... later, in any goroutine:
//	                                  call.Return(results...), Fail or End
//	mr_call_end <-------------------- sets outputs or the failure
//	  calls the completion callback,
//	  and TensorFlow goes on
//	  frees the mr_call
//
// Who owns what. mrGoCall takes over the input tensors and the mr_call. The
// arguments stay valid until the call ends, and then they are closed. Return
// closes the results: TensorFlow has its own references. A call ends once;
// later calls of Return, Fail and End do nothing.
//
// Which session. The C API does not tell a kernel its session. The operation OpSession
// yields a token, the session's address (callback.c says how its kernel learns it), and
// the token travels to each OpGo as its first input. With the token a call finds its
// session's context, which is cancelled before the session closes: otherwise
// TF_CloseSession would wait for the call forever.
//
// Errors pass through TensorFlow as a code and a text; callback_error.go maps them back
// to the Go error. A panic of fn becomes an error of class millrace.ErrInternal.

// The types of the operations that call Go functions. Package graph adds them.
const (
	OpSession = "MillraceSession" // yields the token of the session that runs it
	OpGo      = "MillraceGo"      // calls a Go function: session token, args -> results
	OpGoPure  = "MillraceGoPure"  // OpGo without side effects: it may be pruned, run twice, and restored
)

// Callback is a Go function that operations of a graph call by its id. It is
// valid until it or the graph is closed.
type Callback struct {
	id     int64
	name   string
	fn     func(*Call)
	dtypes []DataType
	shapes []Shape
	pins   callbackList // callbacks of its graph
}

// CallbackOptions describe a Go function and its results.
type CallbackOptions struct {
	Name   string     // name in messages; required
	DTypes []DataType // data types of the results
	Shapes []Shape    // shapes of the results; nil: any
}

// The registry: C knows Go functions, sessions and tokens by number.
var (
	lastID        atomic.Int64
	callbacks     sync.Map // id -> *Callback
	registerErr   error    // why Go functions are unavailable; set by Open
	runningCalls  atomic.Int64
	tokens        sync.Map // value -> *Token
	sessionsByPtr sync.Map // token value -> *sessionCalls
)

// registerOps registers the operations of this file. Open calls it.
func registerOps() error {
	if st := C.mr_register_ops(); st != nil {
		defer C.TF_DeleteStatus(st)
		return statusError("TF_RegisterOpDefinition", st)
	}
	return nil
}

// AddCallback makes a Go function available to operations of g. TensorFlow's
// threads call the function, several at once. It must not block: it returns at
// once, and ends the call then or later with [Call.Return], [Call.Fail] or
// [Call.End]. [Blocking] wraps a function that may block.
//
// It wraps TF_NewAsyncKernelBuilder.
func (g *Graph) AddCallback(fn func(*Call), o *CallbackOptions) (*Callback, error) {
	defer runtime.KeepAlive(g)
	if err := g.check(); err != nil {
		return nil, err
	}
	if registerErr != nil {
		return nil, registerErr
	}
	if fn == nil || o == nil || o.Name == "" || o.Shapes != nil && len(o.Shapes) != len(o.DTypes) {
		return nil, millrace.Errorf(millrace.ErrModel, "a Go function needs a body, a name, and as many shapes as types or none")
	}
	for i, dt := range o.DTypes {
		if goType(dt) == nil {
			return nil, millrace.Errorf(millrace.ErrSchema, "Go function %q: result %d of type %v cannot be made in Go", o.Name, i, dt)
		}
	}
	c := &Callback{id: lastID.Add(1), name: o.Name, fn: fn, dtypes: o.DTypes, shapes: o.Shapes, pins: g.callbacks}
	callbacks.Store(c.id, c)
	live[kindCallback].Add(1)
	g.callbacks.add(c.id)
	return c, nil
}

// OnClose has a function called when the graph is freed, after its Go functions were removed: it
// frees what they use. The function must not refer to the graph. It is called at once if the graph
// cannot be used. A nil function does nothing.
func (g *Graph) OnClose(fn func()) {
	defer runtime.KeepAlive(g)
	if fn == nil {
		return
	}
	if g.check() != nil {
		fn()
		return
	}
	g.callbacks.ends.Store(&fn, nil)
}

// Attrs returns the attributes of an operation of type OpGo or OpGoPure that
// calls the function, except Tin. It returns nil for a nil Callback.
func (c *Callback) Attrs() map[string]any {
	if c == nil {
		return nil
	}
	return map[string]any{"id": c.id, "Tout": append([]DataType{}, c.dtypes...)}
}

// Close removes the function: later calls fail. Closing the graph has the same effect.
func (c *Callback) Close() error {
	if c != nil {
		dropCallback(c.id)
	}
	return nil
}

// dropCallback removes a function from the registry.
func dropCallback(id int64) {
	if _, ok := callbacks.LoadAndDelete(id); ok {
		live[kindCallback].Add(-1)
	}
}

// callbackList holds the ids of a graph's functions. It is a separate value, because
// the graph's cleanup uses it and must not refer to the graph.
type callbackList struct {
	ids  *sync.Map
	ends *sync.Map // *func() -> nil: see [Graph.OnClose]
}

func newCallbackList() callbackList { return callbackList{&sync.Map{}, &sync.Map{}} }

func (l callbackList) add(id int64) { l.ids.Store(id, nil) }

// close removes all callbacks from the registry.
func (l callbackList) close() {
	l.ids.Range(func(id, _ any) bool {
		dropCallback(id.(int64))
		return true
	})
	l.ends.Range(func(end, _ any) bool {
		l.ends.Delete(end)
		(*end.(*func()))()
		return true
	})
}

// Call is one call of a Go function by an operation.
type Call struct {
	fn       *Callback
	session  *sessionCalls
	args     []*Tensor
	c        *C.mr_call
	ended    atomic.Bool
	keepArgs bool // args are closed elsewhere
}

// Context returns a context that is cancelled when the session is closed. A run
// that is made for the call must get this context or one derived from it.
func (c *Call) Context() context.Context { return c.session.ctx }

// Args returns the arguments, which are valid until the call ends.
func (c *Call) Args() []*Tensor { return c.args }

// Return ends the call with results, and closes them. If their number, data types or
// shapes differ from the CallbackOptions, the call ends with an error of class
// millrace.ErrSchema. If the call has ended, Return only closes the results.
func (c *Call) Return(results ...*Tensor) {
	defer closeAll(results)
	if err := c.fn.checkResults(results); err != nil {
		c.Fail(err)
		return
	}
	ptrs := make([]*C.TF_Tensor, len(results))
	for i, t := range results {
		ptrs[i] = t.h.ptr()
	}
	c.end(ptrs, OK, "")
	runtime.KeepAlive(results)
}

// Fail ends the call with an error. The run fails with an error of the same
// class and text that wraps err.
func (c *Call) Fail(err error) {
	if c.ended.Load() {
		return
	}
	code, msg := remember(err)
	c.end(nil, code, msg)
}

// End ends the call with OUT_OF_RANGE, TensorFlow's code for the end of a
// dataset.
func (c *Call) End() { c.end(nil, OutOfRange, "end of sequence") }

// end ends the call in C, at most once.
func (c *Call) end(results []*C.TF_Tensor, code Code, msg string) {
	if !c.ended.CompareAndSwap(false, true) {
		return
	}
	var cs cstrings
	defer cs.free()
	runningCalls.Add(-1)
	C.mr_call_end(c.c, unsafe.SliceData(results), C.int(len(results)), C.int(code), cs.add(msg))
	if !c.keepArgs {
		closeAll(c.args)
	}
}

// checkResults compares results with the CallbackOptions.
func (c *Callback) checkResults(results []*Tensor) error {
	fail := func(format string, args ...any) error {
		e := millrace.Errorf(millrace.ErrSchema, format, args...)
		e.Loader = c.name
		return e
	}
	if len(results) != len(c.dtypes) {
		return fail("%d results, want %d", len(results), len(c.dtypes))
	}
	for i, t := range results {
		switch {
		case !t.IsOpen():
			return fail("result %d: %v", i, errUnusable("tensor", t))
		case t.dtype != c.dtypes[i]:
			return fail("result %d is of type %v, want %v", i, t.dtype, c.dtypes[i])
		case c.shapes != nil && !c.shapes[i].Accepts(t.dims()):
			return fail("result %d has shape %v, want %v", i, t.dims(), c.shapes[i])
		}
	}
	return nil
}

// closeAll closes tensors.
func closeAll(tensors []*Tensor) {
	for _, t := range tensors {
		t.Close()
	}
}

// mrGoCall starts a call. The kernel of OpGo calls it in a thread of TensorFlow.
// The first of the n inputs is the session's token.
//
//export mrGoCall
func mrGoCall(id C.int64_t, c *C.mr_call, inputs **C.TF_Tensor, n C.int) {
	runningCalls.Add(1)
	call := &Call{c: c}
	for _, p := range unsafe.Slice(inputs, int(n)) {
		call.args = append(call.args, adoptTensor(p))
	}
	call.session = callsOf(call.args[0])
	call.args[0].Close()
	call.args = call.args[1:]
	fn, ok := callbacks.Load(int64(id))
	if !ok {
		call.fn = &Callback{}
		call.Fail(millrace.Errorf(millrace.ErrClosed, "no Go function %d: its graph is closed, or was made by another process", int64(id)))
		return
	}
	call.fn = fn.(*Callback)
	defer func() {
		if r := recover(); r != nil {
			call.Fail(panicked(call.fn.name, r))
		}
	}()
	call.fn.fn(call)
}

// Token is a tensor that reports when its last reference is gone, in Go or in
// TensorFlow. Kept in the state of a dataset's iterator, it ends with the
// iterator. Code that has the tensor can find the token's owner.
type Token struct {
	value int64
	data  unsafe.Pointer
	owner any
	drop  func()
}

// NewToken returns a scalar int64 tensor that a call may return. When this tensor and
// every tensor of TensorFlow that shares its memory are freed, drop is called, in any
// thread. It must not block. Until then FindToken returns owner.
func NewToken(owner any, drop func()) (*Tensor, error) {
	if err := ensure(); err != nil {
		return nil, err
	}
	token := &Token{value: lastID.Add(1), owner: owner, drop: drop}
	p := C.mr_new_token(C.int64_t(token.value))
	if p == nil {
		return nil, errNoMemory(Int64, nil)
	}
	t := adoptTensor(p)
	token.data = unsafe.Pointer(t.data)
	tokens.Store(token.value, token)
	return t, nil
}

// FindToken returns the owner of a token. It returns nil for any other tensor,
// and for a copy of a token such as one restored from saved state.
func FindToken(t *Tensor) any {
	values, err := View[int64](t)
	if err != nil || len(values) != 1 {
		return nil
	}
	token, ok := tokens.Load(values[0])
	if !ok || token.(*Token).data != unsafe.Pointer(t.data) {
		return nil
	}
	return token.(*Token).owner
}

// mrTokenDropped is called when the last reference to a token is gone.
//
//export mrTokenDropped
func mrTokenDropped(value C.int64_t) {
	if token, ok := tokens.LoadAndDelete(int64(value)); ok {
		token.(*Token).drop()
	}
}
