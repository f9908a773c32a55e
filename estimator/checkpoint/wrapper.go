package checkpoint

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel"
	"millrace/tfbridge"
)

// Why can a model have one variable twice? Keras has a class Variable of its own,
// which wraps TensorFlow's. To Python they are two objects with one value. As
// Python writes a SavedModel, each becomes a variable of the graph, and Keras's
// model.export names both:
//
//	variables/0       hidden/kernel ◄── the signatures compute with it
//	                      ▲
//	                 ReadVariableOp ──► AssignVariableOp(Variable_7), its initializer
//	                                        ▼
//	_all_variables/0  Variable_7        only the saver reads it
//
// A training changes hidden/kernel only. Variable_7 would keep its old value, in every
// checkpoint and every export. So a checkpoint stores the value of the wrapped variable
// under both names. Which of the two names the wrapper has depends on how the program
// exports its model.
//
// Equal values do not show such a pair: a program may keep its first weights in
// a second variable. Four things together do:
//
//   - The initializer of the one reads the other. Python leaves initializers out of
//     a SavedModel of TensorFlow 2, except the one that Keras adds.
//   - Nothing else in the graph uses the wrapper but the saver.
//   - The graph of objects describes both by the same name, because Keras has the
//     wrapped variable describe the wrapper. A model of TensorFlow 1 has no such
//     graph. There a moving average may begin as a copy, and is a variable of its own.
//   - Types and shapes are equal.

// findWrapped sets Wrapped of the variables that wrap another one.
func findWrapped(variables []Variable, main *body, p *savedmodel.Program) error {
	meta := &tfproto.MetaGraphDef{}
	if err := proto.Unmarshal(p.MetaGraph, meta); err != nil {
		return millrace.Errorf(millrace.ErrInternal, "read the model's graph of objects: %w", err)
	}
	objects := objectGraph(meta.GetObjectGraphDef().GetNodes())
	if len(objects) == 0 {
		return nil
	}
	byOperation := make(map[string]*Variable, len(variables))
	for i := range variables {
		byOperation[variables[i].Handle.Op.Name()] = &variables[i]
	}
	users := main.users()
	for i := range variables {
		v := &variables[i]
		w := byOperation[main.initializedFrom(users[v.Handle.Op.Name()], users, nodeOf(p.Filename))]
		if w != nil && w != v && v.DType == w.DType && v.Shape.String() == w.Shape.String() && objects.describedAlike(v.Name, w.Name) {
			v.Wrapped = w.Handle
		}
	}
	return nil
}

// users returns, for each node, those that take an output of it.
func (b *body) users() map[string][]*tfproto.NodeDef {
	users := map[string][]*tfproto.NodeDef{}
	for _, n := range b.nodes {
		for _, in := range n.GetInput() {
			if !strings.HasPrefix(in, "^") {
				users[nodeOf(in)] = append(users[nodeOf(in)], n)
			}
		}
	}
	return users
}

// initializedFrom returns the variable that the initializer among the users of a
// variable reads. It returns "" if there is none, or if anything uses the
// variable besides the initializer and the saver, which is fed filename.
func (b *body) initializedFrom(of []*tfproto.NodeDef, users map[string][]*tfproto.NodeDef, filename string) string {
	source := ""
	for _, n := range of {
		switch n.GetOp() {
		case "AssignVariableOp":
			if source != "" || len(n.GetInput()) < 2 {
				return ""
			}
			read := b.nodes[nodeOf(b.source(n.GetInput()[1]))]
			if read.GetOp() != "ReadVariableOp" || len(read.GetInput()) == 0 {
				return ""
			}
			source = nodeOf(b.source(read.GetInput()[0]))
		case "ReadVariableOp", "VarIsInitializedOp":
			if len(users[n.GetName()]) > 0 {
				return ""
			}
		default:
			saver := func(in string) bool { return nodeOf(in) == filename }
			if !slices.ContainsFunc(n.GetInput(), saver) {
				return ""
			}
		}
	}
	return source
}

// objectGraph is the objects of the Python program that saved a model. The first
// is the root.
type objectGraph []*tfproto.SavedObject

// describedAlike reports whether the graph describes the variables of two names in
// checkpoints by the same name.
func (g objectGraph) describedAlike(a, b string) bool {
	v, w := g.variable(a), g.variable(b)
	return v != nil && w != nil && v != w && v.GetName() == w.GetName()
}

// unescape undoes how Python writes the name of a child into a name in a checkpoint.
var unescape = strings.NewReplacer(".S", "/", "..", ".")

// variable returns the variable that has a name in checkpoints, which is the path
// from the root to it; nil if the path leads elsewhere.
func (g objectGraph) variable(name string) *tfproto.SavedVariable {
	path, ok := strings.CutSuffix(name, "/.ATTRIBUTES/VARIABLE_VALUE")
	if !ok {
		return nil
	}
	at := g[0]
	for part := range strings.SplitSeq(path, "/") {
		child := unescape.Replace(part)
		i := slices.IndexFunc(at.GetChildren(), func(c *childReference) bool { return c.GetLocalName() == child })
		if i < 0 {
			return nil
		}
		node := int(at.GetChildren()[i].GetNodeId())
		if node < 0 || node >= len(g) {
			return nil
		}
		at = g[node]
	}
	return at.GetVariable()
}

type childReference = tfproto.TrackableObjectGraph_TrackableObject_ObjectReference

// trained returns the variable that a training changes: v itself, or the one
// that it wraps.
func (v Variable) trained() tfbridge.Output {
	if v.Wrapped.Op != nil {
		return v.Wrapped
	}
	return v.Handle
}
