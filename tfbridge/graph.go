package tfbridge

// #include "capi.h"
import "C"

import (
	"io"
	"sync"
	"sync/atomic"
	"unsafe"

	"millrace"
)

// Graph is a computation: operations and the functions that they call. Many
// goroutines may read it and add to it concurrently. Close frees it; a session of
// the graph keeps what it needs.
type Graph struct {
	h     *handle[*C.TF_Graph]
	edges sync.RWMutex // write-locked to add edges: C does not lock when it reads some of them
	err   error        // why the graph could not be made
	attrs sync.Map     // attributes of operation types: see attrTypes

	guards    atomic.Int64 // number of names that guards have taken
	callbacks callbackList
}

// NewGraph returns an empty graph. If libtensorflow cannot be opened, the first call on
// the graph that can return an error reports that.
//
// It wraps TF_NewGraph.
func NewGraph() *Graph {
	if err := ensure(); err != nil {
		return &Graph{err: err}
	}
	callbacks := newCallbackList()
	g := &Graph{callbacks: callbacks}
	p := C.TF_NewGraph()
	C.mr_accept_unshaped(p)
	g.h = own(g, kindGraph, p, func(p *C.TF_Graph) {
		callbacks.close()
		C.TF_DeleteGraph(p)
	})
	return g
}

// check returns an error if the graph is nil or closed.
func (g *Graph) check() error {
	switch {
	case g != nil && g.err != nil:
		return g.err
	case g == nil || !g.h.isOpen():
		return errUnusable("graph", g)
	}
	return nil
}

// hold takes a reference, so that Close may be called meanwhile. The caller gives it
// back with release.
func (g *Graph) hold() error {
	if err := g.check(); err != nil {
		return err
	}
	if !g.h.hold() {
		return errClosed("graph")
	}
	return nil
}

// release gives a reference back.
func (g *Graph) release() { g.h.release() }

// ptr returns the C graph for one call. The caller keeps g alive or holds a
// reference to it. g may be closed meanwhile, but not freed.
func (g *Graph) ptr() *C.TF_Graph {
	if stress {
		collect() // frees the graph now if the caller forgot to keep it alive
	}
	if g.h.refs.Load() == 0 {
		panic("tfbridge: the graph is freed, a reference to it is missing")
	}
	return g.h.p
}

// Close frees the graph. Operations and outputs of it become invalid.
//
// It wraps TF_DeleteGraph.
func (g *Graph) Close() error {
	if g == nil {
		return nil
	}
	return g.h.Close()
}

// WriteTo writes the graph as a serialized GraphDef message.
//
// It wraps TF_GraphToGraphDef.
func (g *Graph) WriteTo(w io.Writer) (int64, error) {
	if err := g.hold(); err != nil {
		return 0, err
	}
	defer g.release()
	if w == nil {
		return 0, errNoWriter()
	}
	buf := C.TF_NewBuffer()
	defer C.TF_DeleteBuffer(buf)
	if err := check("TF_GraphToGraphDef", func(st *C.TF_Status) { C.TF_GraphToGraphDef(g.ptr(), buf, st) }); err != nil {
		return 0, err
	}
	n, err := w.Write(unsafe.Slice((*byte)(buf.data), int(buf.length)))
	if err != nil {
		return int64(n), millrace.Errorf(millrace.ErrIO, "write graph: %w", err)
	}
	return int64(n), nil
}

// OpDef returns the serialized OpDef message of an operation type or of a
// function in the graph.
//
// It wraps TF_GraphGetOpDef.
func (g *Graph) OpDef(opType string) ([]byte, error) {
	if err := g.hold(); err != nil {
		return nil, err
	}
	defer g.release()
	var cs cstrings
	defer cs.free()
	return bufferBytes("TF_GraphGetOpDef", func(b *C.TF_Buffer, st *C.TF_Status) {
		C.TF_GraphGetOpDef(g.ptr(), cs.add(opType), b, st)
	})
}

// Operation returns the operation of a name, nil if there is none.
//
// It wraps TF_GraphOperationByName.
func (g *Graph) Operation(name string) *Operation {
	if checkNames("name", name) != nil || g.hold() != nil {
		return nil
	}
	defer g.release()
	var cs cstrings
	defer cs.free()
	return g.operation(C.TF_GraphOperationByName(g.ptr(), cs.add(name)))
}

// Operations returns all operations, in the order in which they were added.
//
// It wraps TF_GraphNextOperation.
func (g *Graph) Operations() []Operation {
	if g.hold() != nil {
		return nil
	}
	defer g.release()
	var ops []Operation
	var pos C.size_t
	for {
		p := C.TF_GraphNextOperation(g.ptr(), &pos)
		if p == nil {
			return ops
		}
		ops = append(ops, Operation{c: p, g: g})
	}
}

// operation returns an Operation of g, nil for nil.
func (g *Graph) operation(p *C.TF_Operation) *Operation {
	if p == nil {
		return nil
	}
	return &Operation{c: p, g: g}
}

// SetShape sets the shape of an output. It must be compatible with the shape that
// TensorFlow has inferred.
//
// It wraps TF_GraphSetTensorShape.
func (g *Graph) SetShape(o Output, s Shape) error {
	if err := g.hold(); err != nil {
		return err
	}
	defer g.release()
	if err := o.checkIn(g); err != nil {
		return err
	}
	if err := s.Check(); err != nil {
		return err
	}
	dims := s.Dims()
	return check("TF_GraphSetTensorShape", func(st *C.TF_Status) {
		C.TF_GraphSetTensorShape(g.ptr(), o.c(), (*C.int64_t)(unsafe.SliceData(dims)), C.int(s.NumDimensions()), st)
	})
}
