package graph

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
)

// Prune returns the part of a GraphDef that outputs need: their nodes, the nodes
// that these depend on, and the functions that they call. Outputs are named as in
// TensorFlow, "node" or "node:1". Names, order and versions do not change. Errors
// are of class ErrModel.
func Prune(def []byte, outputs ...string) ([]byte, error) {
	g, err := parseGraphDef(def)
	if err != nil {
		return nil, err
	}
	if err := prune(g, outputs); err != nil {
		return nil, err
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(g)
}

// parseGraphDef reads a GraphDef.
func parseGraphDef(def []byte) (*tfproto.GraphDef, error) {
	g := &tfproto.GraphDef{}
	if err := proto.Unmarshal(def, g); err != nil {
		return nil, millrace.Errorf(millrace.ErrModel, "not a GraphDef: %w", err)
	}
	return g, nil
}

// nodeOf returns the node that an input or output names.
func nodeOf(ref string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(ref, "^"), ":")
	return name
}

// prune drops from g what outputs do not need.
func prune(g *tfproto.GraphDef, outputs []string) error {
	if len(outputs) == 0 {
		return millrace.Errorf(millrace.ErrModel, "prune: no outputs are named, nothing would be left")
	}
	nodes := make(map[string]*tfproto.NodeDef, len(g.Node))
	for _, n := range g.Node {
		nodes[n.Name] = n
	}
	needed := map[string]bool{}
	pending := append([]string(nil), outputs...)
	for len(pending) > 0 {
		name := nodeOf(pending[len(pending)-1])
		pending = pending[:len(pending)-1]
		if needed[name] {
			continue
		}
		n, ok := nodes[name]
		if !ok {
			return millrace.Errorf(millrace.ErrModel, "prune: the graph has no node %s", millrace.Quote(name))
		}
		needed[name] = true
		pending = append(pending, n.Input...)
	}
	kept := g.Node[:0]
	for _, n := range g.Node {
		if needed[n.Name] {
			kept = append(kept, n)
		}
	}
	g.Node = kept
	pruneLibrary(g)
	return nil
}

// pruneLibrary drops the functions that no node reaches.
func pruneLibrary(g *tfproto.GraphDef) {
	if g.Library == nil {
		return
	}
	functions := make(map[string]*tfproto.FunctionDef, len(g.Library.Function))
	for _, f := range g.Library.Function {
		functions[f.GetSignature().GetName()] = f
	}
	gradients := map[string]string{}
	for _, d := range g.Library.Gradient {
		gradients[d.FunctionName] = d.GradientFunc
	}
	used := map[string]bool{}
	var enter func(nodes []*tfproto.NodeDef)
	enter = func(nodes []*tfproto.NodeDef) {
		for _, n := range nodes {
			for _, name := range append(calls(n), n.Op) {
				for functions[name] != nil && !used[name] {
					used[name] = true
					enter(functions[name].NodeDef)
					name = gradients[name]
				}
			}
		}
	}
	enter(g.Node)
	kept := g.Library.Function[:0]
	for _, f := range g.Library.Function {
		if used[f.GetSignature().GetName()] {
			kept = append(kept, f)
		}
	}
	g.Library.Function = kept
	left := g.Library.Gradient[:0]
	for _, d := range g.Library.Gradient {
		if used[d.FunctionName] {
			left = append(left, d)
		}
	}
	g.Library.Gradient = left
}

// calls returns the functions that a node's attributes name.
func calls(n *tfproto.NodeDef) []string {
	var names []string
	for _, a := range n.Attr {
		if f := a.GetFunc(); f != nil {
			names = append(names, f.Name)
		}
		for _, f := range a.GetList().GetFunc() {
			names = append(names, f.Name)
		}
	}
	return names
}
