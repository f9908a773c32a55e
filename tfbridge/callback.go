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

// The types of the operations that call Go functions. Package graph adds them.
const (
	OpSession = "MillraceSession" // gives the token of the session that runs it
	OpGo      = "MillraceGo"      // calls a Go function: session token, args -> results
	OpGoPure  = "MillraceGoPure"  // OpGo that may be left out, run twice, and restored
)

// Callback is a Go function that operations of a graph call, by its id. It
// lasts as long as the graph, or until it is closed.
type Callback struct {
	id     int64
	name   string
	fn     func(*Call)
	dtypes []DataType
	shapes []Shape
	pins   callbackList // of its graph
}

// CallbackOptions say what a Go function returns.
type CallbackOptions struct {
	Name   string     // for messages; required
	DTypes []DataType // of the results
	Shapes []Shape    // of the results; nil: any
}

// The registry: C knows Go functions, sessions and tokens by number.
var (
	lastID        atomic.Int64
	callbacks     sync.Map // id -> *Callback
	registerErr   error    // why there are no Go functions, set while opening
	runningCalls  atomic.Int64
	tokens        sync.Map // value -> *Token
	sessionsByPtr sync.Map // token value -> *sessionCalls
)

// registerOps registers the operations of this file, as the runtime is opened.
func registerOps() error {
	if st := C.mr_register_ops(); st != nil {
		defer C.TF_DeleteStatus(st)
		return statusError("TF_RegisterOpDefinition", st)
	}
	return nil
}

// AddCallback makes a Go function known to operations of g. The function is
// called in a thread of TensorFlow and must not block: it returns at once and
// ends the call then or later, with [Call.Return] or [Call.Fail]. See
// [Blocking] for a function that takes its time. Many calls may come at a time.
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

// Attrs returns the attributes of an operation of type OpGo or OpGoPure that
// calls the function, without Tin; none for nil.
func (c *Callback) Attrs() map[string]any {
	if c == nil {
		return nil
	}
	return map[string]any{"id": c.id, "Tout": append([]DataType{}, c.dtypes...)}
}

// Close forgets the function: calls from then on fail. Closing the graph does
// it as well.
func (c *Callback) Close() error {
	if c != nil {
		dropCallback(c.id)
	}
	return nil
}

// dropCallback forgets a function.
func dropCallback(id int64) {
	if _, ok := callbacks.LoadAndDelete(id); ok {
		live[kindCallback].Add(-1)
	}
}

// callbackList are the ids of a graph's functions. It is apart from the graph,
// because what frees the graph uses it.
type callbackList struct{ ids *sync.Map }

func newCallbackList() callbackList { return callbackList{&sync.Map{}} }

func (l callbackList) add(id int64) { l.ids.Store(id, nil) }

// close forgets all of them.
func (l callbackList) close() {
	l.ids.Range(func(id, _ any) bool {
		dropCallback(id.(int64))
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
	keepArgs bool // they are closed by someone else
}

// Context returns the context that ends when the session is closed. A run that
// is made for the call must be given this context or one made from it.
func (c *Call) Context() context.Context { return c.session.ctx }

// Args returns the arguments, which are valid until the call ends.
func (c *Call) Args() []*Tensor { return c.args }

// Return ends the call with results, which it closes. Results of another
// number, type or shape than promised end it with an error of class
// millrace.ErrSchema. A call that has ended stays as it is.
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

// Fail ends the call with an error. Whoever runs the operation gets an error
// that is of the same class, has the same text, and wraps err.
func (c *Call) Fail(err error) {
	if c.ended.Load() {
		return
	}
	code, msg := remember(err)
	c.end(nil, code, msg)
}

// End ends the call with TensorFlow's word for the end of a dataset.
func (c *Call) End() { c.end(nil, OutOfRange, "end of sequence") }

// end makes the C call, once.
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

// checkResults compares results with what the function promised.
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
		case !t.isOpen():
			return fail("result %d is nil or closed", i)
		case t.dtype != c.dtypes[i]:
			return fail("result %d is of type %v, want %v", i, t.dtype, c.dtypes[i])
		case c.shapes != nil && !c.shapes[i].IsCompatibleWith(t.dims()):
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

// mrGoCall is called by the kernel of OpGo, in a thread of TensorFlow. The
// first of the n inputs is the session's token.
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
		call.Fail(millrace.Errorf(millrace.ErrClosed, "there is no Go function %d: its graph was closed, or is of another process", int64(id)))
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

// Token is a tensor that tells when the last one who holds it lets go, be it
// Go or TensorFlow: state of a dataset's iterator that outlives the iterator's
// elements and goes with it. Whoever gets the tensor's value can find it again.
type Token struct {
	value int64
	data  unsafe.Pointer
	owner any
	drop  func()
}

// NewToken returns a scalar int64 tensor for a result. When the tensor and all
// that TensorFlow made share its memory are gone drop is called, in any
// thread: it must not block. FindToken finds owner until then.
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

// FindToken returns the owner of a token. It is nil for any other tensor, also
// for a copy of a token, as it comes from saved state.
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

// mrTokenDropped is called when nobody holds a token any more.
//
//export mrTokenDropped
func mrTokenDropped(value C.int64_t) {
	if token, ok := tokens.LoadAndDelete(int64(value)); ok {
		token.(*Token).drop()
	}
}
