package checkpoint

import (
	"millrace"
	"millrace/dtype"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// Which variable has which name in a checkpoint? The name of a variable's operation
// does not answer this: Python saves a variable under its path through the program's
// objects ("hidden/kernel/.ATTRIBUTES/VARIABLE_VALUE"), and two variables may share the
// name "kernel". The model's own restore operation knows, because it assigns to each
// variable the tensor of its name:
//
//	RestoreV2(file, ["a/.ATTRIBUTES/VARIABLE_VALUE", ...]) ── Identity ──► AssignVariableOp(a)
//
// In TensorFlow 2 this stands in a function whose arguments are the variables,
// in TensorFlow 1 in the main graph. Variables finds the assignments from the
// restore operation backwards. A lookup table that a program changes is restored in
// the same way, from two tensors. Tables that are made of assets are not restored:
//
//	RestoreV2(file, ["t/.ATTRIBUTES/table-keys", "t/.ATTRIBUTES/table-values"]) ──► LookupTableImportV2(t)

// Variable is a variable of a graph with its name in checkpoints, or half of the
// contents of a lookup table.
type Variable struct {
	dtype.TensorSpec                 // Name is the one in checkpoints; the shape of half a table is not known
	Handle           tfbridge.Output // the resource, or the reference of a variable of TensorFlow 1
	Half             Half            // half of a table; the keys stand before the values

	// Wrapped is the variable that Keras's wraps in this one, whose value this one has;
	// see findWrapped. Usually there is none.
	Wrapped tfbridge.Output
}

// Half is the half of a lookup table that a tensor has: its keys or its values.
type Half int

// The halves of a lookup table.
const (
	NoTable Half = iota // a variable
	Keys
	TableValues
)

// Variables returns the variables and tables that a model's restore operation
// restores, in the order in which it names them. The model is loaded into g. It returns nil
// for a model without variables.
func Variables(g *tfbridge.Graph, p *savedmodel.Program) ([]Variable, error) {
	if p.RestoreOp == "" {
		return nil, nil
	}
	restored, main, err := search(p)
	if err != nil {
		return nil, err
	}
	found := make([]Variable, len(restored))
	for i, r := range restored {
		if found[i], err = r.variable(g); err != nil {
			return nil, err
		}
	}
	return found, findWrapped(found, main, p)
}

// TableTensors returns the names in checkpoints of the halves of a model's tables.
// Unlike the shapes of variables, theirs change as the model is trained.
func TableTensors(p *savedmodel.Program) (map[string]bool, error) {
	names := map[string]bool{}
	if p.RestoreOp == "" {
		return names, nil
	}
	restored, _, err := search(p)
	for _, r := range restored {
		if r.half != NoTable {
			names[r.name] = true
		}
	}
	return names, err
}

// variable returns the variable of a graph, or half of the table, that is restored.
func (r *restoredTensor) variable(g *tfbridge.Graph) (Variable, error) {
	op := g.Operation(r.node)
	if op == nil {
		return Variable{}, unnamed(r.node)
	}
	v := Variable{Handle: op.Output(0), Half: r.half}
	v.Name, v.DType = r.name, r.dtype
	if r.half != NoTable {
		return v, nil
	}
	var err error
	v.Shape, err = shapeAttr(op)
	return v, err
}

// shapeAttr returns the declared shape of a variable.
func shapeAttr(op *tfbridge.Operation) (dtype.Shape, error) {
	shape, err := op.Attr("shape")
	if err != nil {
		return dtype.Shape{}, millrace.Errorf(millrace.ErrModel, "variable %q: %w", op.Name(), err)
	}
	declared, _ := shape.(dtype.Shape)
	return declared, nil
}
