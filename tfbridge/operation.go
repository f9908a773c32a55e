package tfbridge

// #include "capi.h"
import "C"

import (
	"unsafe"

	"millrace"
)

// Operation is a node of a graph. It keeps its graph alive. If the graph is
// closed or the Operation is nil, its methods return zero values or errors.
type Operation struct {
	c *C.TF_Operation
	g *Graph
}

// check returns an error if the operation is nil or its graph is closed.
func (o *Operation) check() error {
	if o == nil || o.c == nil {
		return errNoOperation()
	}
	return o.g.check()
}

func errNoOperation() error { return millrace.Errorf(millrace.ErrModel, "no operation: it is nil") }

// hold takes a reference to the graph, which the caller gives back with
// o.g.release.
func (o *Operation) hold() error {
	if o == nil || o.c == nil {
		return errNoOperation()
	}
	return o.g.hold()
}

// ptr returns the C operation for one call. The caller holds a reference to the
// graph.
func (o *Operation) ptr() *C.TF_Operation {
	o.g.ptr() // panics if it is freed
	return o.c
}

// Graph returns the operation's graph, nil for a nil Operation.
func (o *Operation) Graph() *Graph {
	if o == nil {
		return nil
	}
	return o.g
}

// Name returns the operation's name.
//
// It wraps TF_OperationName.
func (o *Operation) Name() string {
	if o.hold() != nil {
		return ""
	}
	defer o.g.release()
	return C.GoString(C.TF_OperationName(o.ptr()))
}

// Type returns the operation's type: "MatMul".
//
// It wraps TF_OperationOpType.
func (o *Operation) Type() string {
	if o.hold() != nil {
		return ""
	}
	defer o.g.release()
	return C.GoString(C.TF_OperationOpType(o.ptr()))
}

// Device returns the device that the operation requests, "" for any.
//
// It wraps TF_OperationDevice.
func (o *Operation) Device() string {
	if o.hold() != nil {
		return ""
	}
	defer o.g.release()
	return C.GoString(C.TF_OperationDevice(o.ptr()))
}

// NumInputs returns the number of inputs. Each element of a list counts.
//
// It wraps TF_OperationNumInputs.
func (o *Operation) NumInputs() int {
	if o.hold() != nil {
		return 0
	}
	defer o.g.release()
	return int(C.TF_OperationNumInputs(o.ptr()))
}

// NumOutputs returns the number of outputs. Each element of a list counts.
//
// It wraps TF_OperationNumOutputs.
func (o *Operation) NumOutputs() int {
	if o.hold() != nil {
		return 0
	}
	defer o.g.release()
	return int(C.TF_OperationNumOutputs(o.ptr()))
}

// Output returns output i. It is checked when it is used.
func (o *Operation) Output(i int) Output { return Output{Op: o, Index: i} }

// OutputListSize returns the number of outputs in a named output of list type.
//
// It wraps TF_OperationOutputListLength.
func (o *Operation) OutputListSize(output string) (int, error) {
	if err := o.hold(); err != nil {
		return 0, err
	}
	defer o.g.release()
	var cs cstrings
	defer cs.free()
	var n C.int
	err := check("TF_OperationOutputListLength", func(st *C.TF_Status) {
		n = C.TF_OperationOutputListLength(o.ptr(), cs.add(output), st)
	})
	return int(n), err
}

// InputListSize returns the number of inputs in a named input of list type.
//
// It wraps TF_OperationInputListLength.
func (o *Operation) InputListSize(input string) (int, error) {
	if err := o.hold(); err != nil {
		return 0, err
	}
	defer o.g.release()
	var cs cstrings
	defer cs.free()
	var n C.int
	err := check("TF_OperationInputListLength", func(st *C.TF_Status) {
		n = C.TF_OperationInputListLength(o.ptr(), cs.add(input), st)
	})
	return int(n), err
}

// Inputs returns the outputs that feed the operation.
//
// It wraps TF_OperationAllInputs.
func (o *Operation) Inputs() []Output {
	if o.hold() != nil {
		return nil
	}
	defer o.g.release()
	o.g.edges.RLock()
	defer o.g.edges.RUnlock()
	n := o.NumInputs()
	in := make([]C.TF_Output, n)
	C.TF_OperationAllInputs(o.ptr(), unsafe.SliceData(in), C.int(n))
	out := make([]Output, n)
	for i := range in {
		out[i] = o.g.output(in[i])
	}
	return out
}

// ControlInputs returns the operations that must run before this one.
//
// It wraps TF_OperationGetControlInputs.
func (o *Operation) ControlInputs() []*Operation {
	if o.hold() != nil {
		return nil
	}
	defer o.g.release()
	o.g.edges.RLock()
	defer o.g.edges.RUnlock()
	n := C.TF_OperationNumControlInputs(o.ptr())
	in := make([]*C.TF_Operation, n)
	n = C.TF_OperationGetControlInputs(o.ptr(), unsafe.SliceData(in), n)
	out := make([]*Operation, n)
	for i := range out {
		out[i] = o.g.operation(in[i])
	}
	return out
}

// NodeDef returns the operation as a serialized NodeDef message.
//
// It wraps TF_OperationToNodeDef.
func (o *Operation) NodeDef() ([]byte, error) {
	if err := o.hold(); err != nil {
		return nil, err
	}
	defer o.g.release()
	return bufferBytes("TF_OperationToNodeDef", func(b *C.TF_Buffer, st *C.TF_Status) {
		C.TF_OperationToNodeDef(o.ptr(), b, st)
	})
}
