package tfbridge

// #include "capi.h"
import "C"

import (
	"maps"
	"regexp"
	"runtime"
	"slices"
	"unsafe"

	"millrace"
)

// OpSpec describes an operation to add to a graph.
type OpSpec struct {
	// Type is the operation's type: "MatMul".
	Type string
	// Name is the operation's name, unique in the graph. Empty means Type.
	// A graph can hold any name, but only runs if names consist of letters,
	// digits and "_.\\/>-" and begin with a letter, a digit or a ".".
	Name string
	// Input are the inputs, in the order of the type's definition.
	Input []Input
	// Attrs are the attributes by name. Values are of type string, int, int64,
	// float32, bool, DataType, Shape, *Tensor, [FuncName], slices of these, or
	// [AttrProto].
	Attrs map[string]any
	// ControlDependencies must run before the operation.
	ControlDependencies []*Operation
	// Device is the device to run on; if empty, TensorFlow chooses.
	Device string
}

// AddOperation adds an operation to g. After an error g is unchanged.
//
// It wraps TF_NewOperation and TF_FinishOperation.
func (g *Graph) AddOperation(spec OpSpec) (*Operation, error) {
	defer runtime.KeepAlive(spec)
	if err := g.hold(); err != nil {
		return nil, err
	}
	defer g.release()
	if spec.Name == "" {
		spec.Name = spec.Type
	}
	b := opBuilder{}
	defer b.free()
	if err := b.prepare(g, &spec); err != nil {
		return nil, errOp(&spec, err)
	}
	op, err := b.build(g)
	if err != nil {
		return nil, errOp(&spec, g.explainType(spec.Type, err))
	}
	return g.operation(op), nil
}

// errOp is the error about an operation that could not be added.
func errOp(spec *OpSpec, err error) error {
	class := millrace.ErrModel
	if c, ok := err.(*millrace.Error); ok {
		class = c.Class
	}
	if spec.Name == spec.Type {
		return millrace.Errorf(class, "add operation %q: %w", spec.Name, err)
	}
	return millrace.Errorf(class, "add operation %q of type %q: %w", spec.Name, spec.Type, err)
}

// validName matches the names with which a graph can be run.
var validName = regexp.MustCompile(`^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$`)

// opBuilder prepares the C calls that add an operation. It checks everything
// before the first call: every TF_NewOperation must be followed by
// TF_FinishOperation, which would add an incomplete operation.
type opBuilder struct {
	cstrings
	pinner     runtime.Pinner
	cType      *C.char
	cName      *C.char
	steps      []func(d *C.TF_OperationDescription)
	tensors    []*Tensor // held while the steps run
	attrErrors []error   // found while the steps run
}

// free releases everything that the steps needed.
func (b *opBuilder) free() {
	b.cstrings.free()
	b.pinner.Unpin()
	for _, t := range b.tensors {
		t.h.release()
	}
}

// step adds a step.
func (b *opBuilder) step(fn func(d *C.TF_OperationDescription)) { b.steps = append(b.steps, fn) }

// prepare checks a spec and turns it into steps.
func (b *opBuilder) prepare(g *Graph, spec *OpSpec) error {
	if err := checkNames("name", spec.Type, spec.Name, spec.Device); err != nil {
		return err
	}
	if spec.Type == "" {
		return millrace.Errorf(millrace.ErrModel, "no operation type")
	}
	if err := g.checkAttrNames(spec); err != nil {
		return err
	}
	b.cType, b.cName = b.add(spec.Type), b.add(spec.Name)
	if spec.Device != "" {
		device := b.add(spec.Device)
		b.step(func(d *C.TF_OperationDescription) { C.TF_SetDevice(d, device) })
	}
	if err := b.inputs(g, spec); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(spec.Attrs)) {
		if err := b.attr(name, spec.Attrs[name]); err != nil {
			return err
		}
	}
	return nil
}

// inputs prepares inputs and control dependencies.
func (b *opBuilder) inputs(g *Graph, spec *OpSpec) error {
	for i, in := range spec.Input {
		switch in := in.(type) {
		case Output:
			if err := in.checkIn(g); err != nil {
				return millrace.Errorf(millrace.ErrModel, "input %d: %w", i, err)
			}
			c := in.c()
			b.step(func(d *C.TF_OperationDescription) { C.TF_AddInput(d, c) })
		case OutputList:
			list, err := g.outputs(in)
			if err != nil {
				return millrace.Errorf(millrace.ErrModel, "input %d: %w", i, err)
			}
			b.step(func(d *C.TF_OperationDescription) {
				C.TF_AddInputList(d, unsafe.SliceData(list), C.int(len(list)))
			})
		default:
			return millrace.Errorf(millrace.ErrModel, "input %d: no output", i)
		}
	}
	controls, err := g.operations(spec.ControlDependencies)
	if err != nil {
		return err
	}
	for _, op := range controls {
		b.step(func(d *C.TF_OperationDescription) { C.TF_AddControlInput(d, op) })
	}
	return nil
}

// build runs the steps.
func (b *opBuilder) build(g *Graph) (*C.TF_Operation, error) {
	g.edges.Lock()
	defer g.edges.Unlock()
	d := C.TF_NewOperation(g.ptr(), b.cType, b.cName)
	for _, step := range b.steps {
		step(d)
	}
	if len(b.attrErrors) > 0 {
		// TF_FinishOperation must be called, and it must fail: an attribute with two
		// values ensures that.
		abandoned := b.add("_abandoned")
		C.TF_SetAttrBool(d, abandoned, 0)
		C.TF_SetAttrBool(d, abandoned, 1)
	}
	var op *C.TF_Operation
	err := check("TF_FinishOperation", func(st *C.TF_Status) { op = C.TF_FinishOperation(d, st) })
	if len(b.attrErrors) > 0 {
		return nil, b.attrErrors[0]
	}
	return op, err
}
