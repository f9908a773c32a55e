package tfbridge

// #include "capi.h"
import "C"

import (
	"fmt"
	"unsafe"

	"millrace"
)

// Input is an input of an operation: an Output or an OutputList.
type Input interface {
	// Unexported, so that no other types implement Input.
	canBeAnInput()
}

// Output is one of the tensors that an operation computes.
type Output struct {
	Op    *Operation
	Index int
}

// OutputList is a list of outputs, for an input of list type.
type OutputList []Output

func (o Output) canBeAnInput()     {}
func (l OutputList) canBeAnInput() {}

// Consumer is an input of an operation that takes an output.
type Consumer struct {
	Op    *Operation
	Index int
}

// check returns an error if the output does not exist. TensorFlow would crash.
func (o Output) check() error {
	if err := o.Op.check(); err != nil {
		return err
	}
	if n := o.Op.NumOutputs(); o.Index < 0 || o.Index >= n {
		return millrace.Errorf(millrace.ErrModel, "operation %q has %d outputs, there is no output %d", o.Op.Name(), n, o.Index)
	}
	return nil
}

// hold is check that also takes a reference to the graph. The caller gives it back
// with o.Op.g.release.
func (o Output) hold() error {
	if err := o.Op.hold(); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		o.Op.g.release()
		return err
	}
	return nil
}

// checkIn returns an error if the output does not exist in g.
func (o Output) checkIn(g *Graph) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.Op.g != g {
		return millrace.Errorf(millrace.ErrModel, "output %v belongs to another graph", o)
	}
	return nil
}

// c returns the output in C's form.
func (o Output) c() C.TF_Output {
	return C.TF_Output{oper: o.Op.ptr(), index: C.int(o.Index)}
}

// output returns an Output of g.
func (g *Graph) output(o C.TF_Output) Output {
	return Output{Op: g.operation(o.oper), Index: int(o.index)}
}

// String returns the output's name in TensorFlow's format: "matmul:0".
func (o Output) String() string {
	if o.Op.check() != nil {
		return "<none>"
	}
	return fmt.Sprintf("%s:%d", o.Op.Name(), o.Index)
}

// DataType returns the data type of the elements, 0 if there is no such output.
//
// It wraps TF_OperationOutputType.
func (o Output) DataType() DataType {
	if o.hold() != nil {
		return 0
	}
	defer o.Op.g.release()
	return DataType(C.TF_OperationOutputType(o.c()))
}

// Shape returns the shape as far as TensorFlow can infer it. The zero Output, which
// functions that build graphs return after a failure, has an unknown shape.
//
// It wraps TF_GraphGetTensorShape.
func (o Output) Shape() Shape {
	if o.hold() != nil {
		return Shape{}
	}
	defer o.Op.g.release()
	g := o.Op.g
	var rank C.int
	err := check("TF_GraphGetTensorNumDims", func(st *C.TF_Status) {
		rank = C.TF_GraphGetTensorNumDims(g.ptr(), o.c(), st)
	})
	if err != nil || rank < 0 {
		return Shape{}
	}
	dims := make([]int64, rank)
	err = check("TF_GraphGetTensorShape", func(st *C.TF_Status) {
		C.TF_GraphGetTensorShape(g.ptr(), o.c(), (*C.int64_t)(unsafe.SliceData(dims)), rank, st)
	})
	if err != nil {
		return Shape{}
	}
	return MakeShape(dims...)
}

// Consumers returns the inputs that take the output.
//
// It wraps TF_OperationOutputConsumers.
func (o Output) Consumers() []Consumer {
	if o.hold() != nil {
		return nil
	}
	defer o.Op.g.release()
	o.Op.g.edges.RLock()
	defer o.Op.g.edges.RUnlock()
	n := C.TF_OperationOutputNumConsumers(o.c())
	in := make([]C.TF_Input, n)
	n = C.TF_OperationOutputConsumers(o.c(), unsafe.SliceData(in), n)
	out := make([]Consumer, min(int(n), len(in)))
	for i := range out {
		out[i] = Consumer{Op: o.Op.g.operation(in[i].oper), Index: int(in[i].index)}
	}
	return out
}

// DataType returns the type that the input takes, 0 if there is no such input.
//
// It wraps TF_OperationInputType.
func (c Consumer) DataType() DataType {
	if c.hold() != nil {
		return 0
	}
	defer c.Op.g.release()
	return DataType(C.TF_OperationInputType(C.TF_Input{oper: c.Op.ptr(), index: C.int(c.Index)}))
}

// Producer returns the output that feeds the input, the zero Output if there is
// no such input.
//
// It wraps TF_OperationInput.
func (c Consumer) Producer() Output {
	if c.hold() != nil {
		return Output{}
	}
	g := c.Op.g
	defer g.release()
	g.edges.RLock()
	defer g.edges.RUnlock()
	return g.output(C.TF_OperationInput(C.TF_Input{oper: c.Op.ptr(), index: C.int(c.Index)}))
}

// hold returns an error if the input does not exist; TensorFlow would crash. It
// takes a reference to the graph, which the caller gives back with
// c.Op.g.release.
func (c Consumer) hold() error {
	if err := c.Op.hold(); err != nil {
		return err
	}
	if n := c.Op.NumInputs(); c.Index < 0 || c.Index >= n {
		c.Op.g.release()
		return millrace.Errorf(millrace.ErrModel, "no input %d; the operation has %d", c.Index, n)
	}
	return nil
}

// outputs converts a list of outputs of g for C, each checked.
func (g *Graph) outputs(list []Output) ([]C.TF_Output, error) {
	out := make([]C.TF_Output, len(list))
	for i, o := range list {
		if err := o.checkIn(g); err != nil {
			return nil, err
		}
		out[i] = o.c()
	}
	return out, nil
}

// operations converts a list of operations of g for C, each checked.
func (g *Graph) operations(list []*Operation) ([]*C.TF_Operation, error) {
	out := make([]*C.TF_Operation, len(list))
	for i, op := range list {
		if err := op.check(); err != nil {
			return nil, err
		}
		if op.g != g {
			return nil, millrace.Errorf(millrace.ErrModel, "operation %q belongs to another graph", op.Name())
		}
		out[i] = op.ptr()
	}
	return out, nil
}
