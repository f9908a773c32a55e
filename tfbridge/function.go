package tfbridge

// #include "capi.h"
import "C"

import (
	"unsafe"

	"millrace"
)

// Function is a graph that operations can call by name. Close frees it; graphs
// that it was added to have copies.
type Function struct {
	h    *handle[*C.TF_Function]
	name string
}

// FunctionOptions are the options of NewFunction. Nil and the zero value mean the
// defaults.
type FunctionOptions struct {
	// OutputNames name the outputs; if empty, TensorFlow chooses the names.
	OutputNames []string
	// ControlOutputs are operations that run whenever the function does,
	// even if no output needs them.
	ControlOutputs []*Operation
	// Description is kept with the function.
	Description string
	// AppendHash makes the name unique by adding a hash of the contents.
	AppendHash bool
}

// NewFunction makes a function of all operations of a graph except those of the
// inputs, which become its arguments. It does not change the graph. To call the
// function in another graph, add it and the functions that it calls.
//
// It wraps TF_GraphToFunctionWithControlOutputs.
func NewFunction(body *Graph, name string, inputs, outputs []Output, o *FunctionOptions) (*Function, error) {
	if err := body.hold(); err != nil {
		return nil, err
	}
	defer body.release()
	if o == nil {
		o = &FunctionOptions{}
	}
	var a functionArgs
	defer a.free()
	if err := a.fill(body, inputs, outputs, o); err != nil {
		return nil, err
	}
	if err := checkNames("function", name); err != nil {
		return nil, err
	}
	var f *C.TF_Function
	err := check("TF_GraphToFunctionWithControlOutputs", func(st *C.TF_Status) {
		f = C.TF_GraphToFunctionWithControlOutputs(body.ptr(), a.add(name), cbool(o.AppendHash), -1, nil,
			C.int(len(a.in)), unsafe.SliceData(a.in), C.int(len(a.out)), unsafe.SliceData(a.out), a.names(),
			C.int(len(a.control)), unsafe.SliceData(a.control), nil, nil, a.description, st)
	})
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrModel, "make function %q: %w", name, err)
	}
	return adoptFunction(f), nil
}

// functionArgs holds the arguments of NewFunction in C's form.
type functionArgs struct {
	cstrings
	in, out     []C.TF_Output
	control     []*C.TF_Operation
	outNames    []*C.char
	description *C.char
}

// fill checks and converts the parts.
func (a *functionArgs) fill(body *Graph, inputs, outputs []Output, o *FunctionOptions) (err error) {
	if err := body.check(); err != nil {
		return err
	}
	if n := len(o.OutputNames); n > 0 && n != len(outputs) {
		return millrace.Errorf(millrace.ErrModel, "%d output names for %d outputs", n, len(outputs))
	}
	if a.in, err = body.outputs(inputs); err != nil {
		return err
	}
	if a.out, err = body.outputs(outputs); err != nil {
		return err
	}
	if a.control, err = body.operations(o.ControlOutputs); err != nil {
		return err
	}
	a.outNames = a.addAll(o.OutputNames)
	if o.Description != "" {
		a.description = a.add(o.Description)
	}
	return nil
}

// names returns the output names, nil for none.
func (a *functionArgs) names() **C.char {
	if len(a.outNames) == 0 {
		return nil
	}
	return &a.outNames[0]
}

// adoptFunction makes a Function that owns p.
func adoptFunction(p *C.TF_Function) *Function {
	f := &Function{name: C.GoString(C.TF_FunctionName(p))}
	f.h = own(f, kindFunction, p, func(p *C.TF_Function) { C.TF_DeleteFunction(p) })
	return f
}

// ImportFunction makes a function of a serialized FunctionDef message.
//
// It wraps TF_FunctionImportFunctionDef.
func ImportFunction(def []byte) (*Function, error) {
	if err := ensure(); err != nil {
		return nil, err
	}
	if err := checkProto("function definition", def); err != nil {
		return nil, err
	}
	var f *C.TF_Function
	err := check("TF_FunctionImportFunctionDef", func(st *C.TF_Status) {
		f = C.TF_FunctionImportFunctionDef(unsafe.Pointer(unsafe.SliceData(def)), C.size_t(len(def)), st)
	})
	if err != nil {
		return nil, err
	}
	return adoptFunction(f), nil
}

// Close frees the function.
//
// It wraps TF_DeleteFunction.
func (f *Function) Close() error {
	if f == nil {
		return nil
	}
	return f.h.Close()
}

// Name returns the name by which operations call the function, "" for nil.
func (f *Function) Name() string {
	if f == nil {
		return ""
	}
	return f.name
}

// hold takes a reference, which the caller gives back with f.h.release.
func (f *Function) hold() error {
	if f == nil || !f.h.hold() {
		return errUnusable("function", f)
	}
	return nil
}

// Def returns the function as a serialized FunctionDef message.
//
// It wraps TF_FunctionToFunctionDef.
func (f *Function) Def() ([]byte, error) {
	if err := f.hold(); err != nil {
		return nil, err
	}
	defer f.h.release()
	return bufferBytes("TF_FunctionToFunctionDef", func(b *C.TF_Buffer, st *C.TF_Status) {
		C.TF_FunctionToFunctionDef(f.h.p, b, st)
	})
}

// SetAttr gives the function an attribute.
//
// It wraps TF_FunctionSetAttrValueProto.
func (f *Function) SetAttr(name string, value AttrProto) error {
	if err := f.hold(); err != nil {
		return err
	}
	defer f.h.release()
	if err := checkNames("attribute", name); err != nil {
		return err
	}
	var cs cstrings
	defer cs.free()
	return check("TF_FunctionSetAttrValueProto", func(st *C.TF_Status) {
		C.TF_FunctionSetAttrValueProto(f.h.p, cs.add(name), unsafe.Pointer(unsafe.SliceData(value)), C.size_t(len(value)), st)
	})
}

// AddFunction adds a copy of f to g, after which operations of g may call it
// by name. Adding it again does nothing; another function of its name is an
// error.
//
// It wraps TF_GraphCopyFunction.
func (g *Graph) AddFunction(f *Function) error {
	return g.addFunction(f, nil)
}

// AddFunctionWithGradient is AddFunction that also adds a copy of gradient, the
// derivative of f. [Graph.AddGradients] uses it for calls of f. gradient takes
// the arguments of f and then a derivative for each result of f. It returns a
// derivative for each argument of f, of that argument's data type.
//
// It wraps TF_GraphCopyFunction.
func (g *Graph) AddFunctionWithGradient(f, gradient *Function) error {
	if err := gradient.hold(); err != nil {
		return err
	}
	defer gradient.h.release()
	return g.addFunction(f, gradient.h.p)
}

// addFunction adds f, and its gradient unless that is nil. The caller holds a
// reference to the gradient.
func (g *Graph) addFunction(f *Function, gradient *C.TF_Function) error {
	if err := g.hold(); err != nil {
		return err
	}
	defer g.release()
	if err := f.hold(); err != nil {
		return err
	}
	defer f.h.release()
	return check("TF_GraphCopyFunction", func(st *C.TF_Status) {
		C.TF_GraphCopyFunction(g.ptr(), f.h.p, gradient, st)
	})
}

// Functions returns copies of the graph's functions, which the caller closes.
//
// It wraps TF_GraphGetFunctions.
func (g *Graph) Functions() ([]*Function, error) {
	if err := g.hold(); err != nil {
		return nil, err
	}
	defer g.release()
	ptrs := make([]*C.TF_Function, C.TF_GraphNumFunctions(g.ptr()))
	if len(ptrs) == 0 {
		return nil, nil
	}
	var n C.int
	err := check("TF_GraphGetFunctions", func(st *C.TF_Status) {
		n = C.TF_GraphGetFunctions(g.ptr(), unsafe.SliceData(ptrs), C.int(len(ptrs)), st)
	})
	if err != nil {
		return nil, err
	}
	out := make([]*Function, n)
	for i := range out {
		out[i] = adoptFunction(ptrs[i])
	}
	return out, nil
}
