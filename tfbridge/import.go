package tfbridge

// #include "capi.h"
import "C"

import (
	"unsafe"

	"millrace"
)

// GraphImportOptions are the options of an import. The zero value means the
// defaults.
type GraphImportOptions struct {
	// Prefix and a "/" precede the names of the imported operations.
	Prefix string
	// Device is the device of imported operations without one.
	Device string
	// UniquifyNames and UniquifyPrefix rename operations and prefix if the graph
	// already has them. Otherwise such names are errors.
	UniquifyNames, UniquifyPrefix bool
	// ControlDependencies run before every imported operation.
	ControlDependencies []*Operation
	// ReturnOutputs and ReturnOperations name what ImportWithResults returns,
	// by the names in the GraphDef.
	ReturnOutputs    []OutputName
	ReturnOperations []string

	inputs   []inputMapping
	controls []controlMapping
}

// OutputName names an output of an operation in a GraphDef.
type OutputName struct {
	Op    string
	Index int
}

// inputMapping replaces an output of the GraphDef, wherever it is an input, by an
// output of the graph.
type inputMapping struct {
	src OutputName
	dst Output
}

// controlMapping does the same for control dependencies.
type controlMapping struct {
	src string
	dst *Operation
}

// AddInputMapping makes imported operations take dst of the graph instead of
// output src:srcIndex of the GraphDef.
func (o *GraphImportOptions) AddInputMapping(src string, srcIndex int, dst Output) {
	o.inputs = append(o.inputs, inputMapping{OutputName{src, srcIndex}, dst})
}

// AddControlMapping makes imported operations depend on dst of the graph instead
// of src of the GraphDef.
func (o *GraphImportOptions) AddControlMapping(src string, dst *Operation) {
	o.controls = append(o.controls, controlMapping{src, dst})
}

// ImportResults are the results of an import.
type ImportResults struct {
	Outputs    []Output
	Operations []*Operation
	// UnusedMappings are the input mappings without a match.
	UnusedMappings []OutputName
}

// Import adds the operations of a serialized GraphDef to g.
//
// It wraps TF_GraphImportGraphDefWithResults.
func (g *Graph) Import(def []byte, prefix string) error {
	return g.ImportWithOptions(def, GraphImportOptions{Prefix: prefix})
}

// ImportWithOptions adds the operations of a serialized GraphDef to g.
//
// It wraps TF_GraphImportGraphDefWithResults.
func (g *Graph) ImportWithOptions(def []byte, o GraphImportOptions) error {
	_, err := g.ImportWithResults(def, o)
	return err
}

// ImportWithResults adds the operations of a serialized GraphDef to g and
// returns those that the options name.
//
// It wraps TF_GraphImportGraphDefWithResults.
func (g *Graph) ImportWithResults(def []byte, o GraphImportOptions) (*ImportResults, error) {
	if err := g.hold(); err != nil {
		return nil, err
	}
	defer g.release()
	if err := checkProto("graph definition", def); err != nil {
		return nil, err
	}
	opts := C.TF_NewImportGraphDefOptions()
	defer C.TF_DeleteImportGraphDefOptions(opts)
	if err := o.fill(g, opts); err != nil {
		return nil, err
	}
	buf := C.TF_NewBufferFromString(unsafe.Pointer(unsafe.SliceData(def)), C.size_t(len(def)))
	defer C.TF_DeleteBuffer(buf)
	var results *C.TF_ImportGraphDefResults
	g.edges.Lock()
	defer g.edges.Unlock()
	err := check("TF_GraphImportGraphDefWithResults", func(st *C.TF_Status) {
		results = C.TF_GraphImportGraphDefWithResults(g.ptr(), buf, opts, st)
	})
	if err != nil {
		return nil, err
	}
	defer C.TF_DeleteImportGraphDefResults(results)
	return g.importResults(results), nil
}

// checkProto refuses an empty message, which TensorFlow would treat as an empty graph,
// and a message that is too large.
func checkProto(what string, def []byte) error {
	switch {
	case len(def) == 0:
		return millrace.Errorf(millrace.ErrModel, "%s is empty", what)
	case len(def) > maxProto:
		return millrace.Errorf(millrace.ErrLimit, "%s has %d bytes, more than a message can have", what, len(def))
	}
	return nil
}

// fill checks the options and passes them to C, which copies them.
func (o *GraphImportOptions) fill(g *Graph, opts *C.TF_ImportGraphDefOptions) error {
	if err := o.check(g); err != nil {
		return err
	}
	var cs cstrings
	defer cs.free()
	if o.Prefix != "" {
		C.TF_ImportGraphDefOptionsSetPrefix(opts, cs.add(o.Prefix))
	}
	if o.Device != "" {
		C.TF_ImportGraphDefOptionsSetDefaultDevice(opts, cs.add(o.Device))
	}
	C.TF_ImportGraphDefOptionsSetUniquifyNames(opts, cbool(o.UniquifyNames))
	C.TF_ImportGraphDefOptionsSetUniquifyPrefix(opts, cbool(o.UniquifyPrefix))
	for _, op := range o.ControlDependencies {
		C.TF_ImportGraphDefOptionsAddControlDependency(opts, op.ptr())
	}
	for _, m := range o.inputs {
		C.TF_ImportGraphDefOptionsAddInputMapping(opts, cs.add(m.src.Op), C.int(m.src.Index), m.dst.c())
	}
	for _, m := range o.controls {
		C.TF_ImportGraphDefOptionsRemapControlDependency(opts, cs.add(m.src), m.dst.ptr())
	}
	for _, out := range o.ReturnOutputs {
		C.TF_ImportGraphDefOptionsAddReturnOutput(opts, cs.add(out.Op), C.int(out.Index))
	}
	for _, name := range o.ReturnOperations {
		C.TF_ImportGraphDefOptionsAddReturnOperation(opts, cs.add(name))
	}
	return nil
}

// check refuses options on which TensorFlow would crash.
func (o *GraphImportOptions) check(g *Graph) error {
	names := append([]string{o.Prefix, o.Device}, o.ReturnOperations...)
	ops := append([]*Operation(nil), o.ControlDependencies...)
	for _, out := range o.ReturnOutputs {
		names = append(names, out.Op)
		if out.Index < 0 {
			return millrace.Errorf(millrace.ErrModel, "return output %s:%d: negative index", out.Op, out.Index)
		}
	}
	for _, m := range o.inputs {
		names = append(names, m.src.Op)
		if m.src.Index < 0 {
			return millrace.Errorf(millrace.ErrModel, "map input %s:%d: negative index", m.src.Op, m.src.Index)
		}
		if err := m.dst.checkIn(g); err != nil {
			return millrace.Errorf(millrace.ErrModel, "map input %s:%d: %w", m.src.Op, m.src.Index, err)
		}
	}
	for _, m := range o.controls {
		names, ops = append(names, m.src), append(ops, m.dst)
	}
	if err := checkNames("name", names...); err != nil {
		return err
	}
	_, err := g.operations(ops)
	return err
}

// importResults copies the results of an import.
func (g *Graph) importResults(c *C.TF_ImportGraphDefResults) *ImportResults {
	r := &ImportResults{}
	var n C.int
	var outputs *C.TF_Output
	C.TF_ImportGraphDefResultsReturnOutputs(c, &n, &outputs)
	for _, o := range unsafe.Slice(outputs, n) {
		r.Outputs = append(r.Outputs, g.output(o))
	}
	var ops **C.TF_Operation
	C.TF_ImportGraphDefResultsReturnOperations(c, &n, &ops)
	for _, op := range unsafe.Slice(ops, n) {
		r.Operations = append(r.Operations, g.operation(op))
	}
	var names **C.char
	var index *C.int
	C.TF_ImportGraphDefResultsMissingUnusedInputMappings(c, &n, &names, &index)
	for i, name := range unsafe.Slice(names, n) {
		r.UnusedMappings = append(r.UnusedMappings, OutputName{C.GoString(name), int(unsafe.Slice(index, n)[i])})
	}
	return r
}
