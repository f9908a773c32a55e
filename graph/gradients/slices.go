package gradients

import (
	"slices"

	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// A batch takes a few rows of an embedding's matrix, and the derivative with respect
// to all other rows is zero. Written out, the derivative is as large as the matrix,
// and so is the copy that reading the variable may make. TensorFlow's IndexedSlices
// hold the rows alone. To get there, an opened signature gathers from the variable
// itself where the model gathers from its value:
//
//	VarHandleOp -> ReadVariableOp -> GatherV2        the model
//	VarHandleOp -> ResourceGather                    opened
//
// The derivative stops at the variable's handle, and stays rows and their indices. A
// variable that a model also uses as a whole has a derivative of both kinds; they are
// added up to a dense one, as Python does.

// Variable is a resource variable that opened outputs depend on.
type Variable struct {
	Name   string          // its shared name, or the name of its node if it has none
	Node   string          // the name of its node in the model's graph
	Handle tfbridge.Output // handle from the model's own VarHandleOp
	Value  tfbridge.Output // the value that the outputs are computed from
	DType  tfbridge.DataType
	Shape  tfbridge.Shape
}

// Trainable reports whether the variable has floating-point values.
func (v Variable) Trainable() bool { return trainable(v.DType) }

// Gradient is the derivative with respect to a variable.
type Gradient struct {
	// Value has the variable's shape; the zero Output means that there is no
	// derivative. If Indices is set, Value holds rows instead.
	Value tfbridge.Output
	// Indices is a vector that names the row of the variable for each row of Value. Rows
	// of the same index add up. It is TensorFlow's IndexedSlices.
	Indices tfbridge.Output
}

// Dense returns the derivative in the shape of the variable.
func (g Gradient) Dense(s *graph.Scope, v Variable) tfbridge.Output {
	if g.Indices.Op == nil || s.Err() != nil {
		return g.Value
	}
	return s.Op1("UnsortedSegmentSum", nil, g.Value, g.Indices, s.Const(v.Shape.Size(0)))
}

// gatherFromHandles rewrites nodes that gather rows of a variable's value to gather
// from the variable itself. handles maps the name of a value's node to the name of its
// handle's node. It returns the names of the rewritten nodes.
func gatherFromHandles(nodes []*tfproto.NodeDef, handles map[string]string) []string {
	byName := map[string]*tfproto.NodeDef{}
	for _, n := range nodes {
		byName[n.Name] = n
	}
	origin := func(s string) ref {
		r := parseRef(s)
		for n := byName[r.node]; n != nil && n.Op == "Identity" && handles[r.node] == ""; n = byName[r.node] {
			r = parseRef(n.Input[0])
		}
		return r
	}
	var gathers []string
	for _, n := range nodes {
		if n.Op != "GatherV2" || n.Attr["batch_dims"].GetI() != 0 {
			continue
		}
		handle, axis := handles[origin(n.Input[0]).node], byName[origin(n.Input[2]).node]
		if handle == "" || axis == nil || !isZero(axis.Attr["value"].GetTensor()) {
			continue
		}
		n.Op = "ResourceGather"
		n.Input = slices.Concat([]string{handle, n.Input[1]}, n.Input[3:])
		n.Attr = map[string]*tfproto.AttrValue{"dtype": n.Attr["Tparams"], "Tindices": n.Attr["Tindices"]}
		gathers = append(gathers, n.Name)
	}
	return gathers
}

// isZero reports whether an integer constant is the scalar 0.
func isZero(t *tfproto.TensorProto) bool {
	for _, b := range t.GetTensorContent() {
		if b != 0 {
			return false
		}
	}
	for _, v := range t.GetIntVal() {
		if v != 0 {
			return false
		}
	}
	for _, v := range t.GetInt64Val() {
		if v != 0 {
			return false
		}
	}
	return t != nil
}

// resourceGatherRule keeps the rows of the derivative with their indices.
func resourceGatherRule(c *call) []tfbridge.Output {
	indices := graph.Reshape(c.Scope, graph.Cast(c.Scope, c.x(1), tfbridge.Int64), c.Const([]int32{-1}))
	inner := graph.Subscript(c.Scope, c.fa("VariableShape", map[string]any{"out_type": tfbridge.Int32}, c.x(0)), graph.From(1))
	count := graph.Reshape(c.Scope, c.f("Size", indices), c.Const([]int32{1}))
	rows := graph.Reshape(c.Scope, c.d(0), graph.ConcatV2(c.Scope, []tfbridge.Output{count, inner}, 0))
	if c.Err() == nil {
		handle := tensorOf(c.x(0))
		c.walk.slices[handle] = append(c.walk.slices[handle], Gradient{Value: rows, Indices: indices})
	}
	return nil
}

// gradient returns the derivative with respect to a variable.
func (w *walk) gradient(v Variable) Gradient {
	whole, parts := w.sum(tensorOf(v.Value)), w.slices[tensorOf(v.Handle)]
	if len(parts) == 0 || w.scope.Err() != nil {
		return Gradient{Value: whole}
	}
	rows := parts[0]
	if len(parts) > 1 {
		var values, indices []tfbridge.Output
		for _, p := range parts {
			values, indices = append(values, p.Value), append(indices, p.Indices)
		}
		rows = Gradient{Value: graph.ConcatV2(w.scope, values, 0), Indices: graph.ConcatV2(w.scope, indices, 0)}
	}
	if whole.Op == nil {
		return rows
	}
	return Gradient{Value: graph.Add(w.scope, whole, rows.Dense(w.scope, v))}
}
