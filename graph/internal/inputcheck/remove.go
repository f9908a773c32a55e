package inputcheck

import (
	"slices"
	"strings"

	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// Remove removes from a graph what [Insert] added. Only programs with Millrace have the
// check operation, so graphs for other programs must not contain it.
func Remove(g *tfproto.GraphDef) {
	g.Node = removeFrom(g.GetNode(), nil)
	library := g.GetLibrary()
	if library == nil {
		return
	}
	for _, f := range library.GetFunction() {
		if !isMade(f.GetSignature().GetName()) {
			f.NodeDef = removeFrom(f.GetNodeDef(), f.GetRet())
		}
	}
	library.Function = slices.DeleteFunc(library.Function, func(f *tfproto.FunctionDef) bool {
		return isMade(f.GetSignature().GetName()) && slices.ContainsFunc(f.GetNodeDef(), func(n *tfproto.NodeDef) bool {
			return n.GetOp() == tfbridge.OpCheckExamples || n.GetOp() == tfbridge.OpCheckArguments
		})
	})
}

// isMade reports whether a function has a name of those that Insert makes.
func isMade(function string) bool { return strings.HasPrefix(function, functionName) }

// removeFrom returns nodes without the added checks. It changes the tensors that a function returns.
func removeFrom(nodes []*tfproto.NodeDef, returned map[string]string) []*tfproto.NodeDef {
	checked := map[string]string{} // inputs that the checks pass on
	keys := map[string]bool{}
	for _, n := range nodes {
		switch {
		case n.GetOp() == tfbridge.OpCheckExamples || n.GetOp() == tfbridge.OpCheckBytes || n.GetOp() == tfbridge.OpCheckArguments:
			checked[n.GetName()] = n.GetInput()[0]
			for _, in := range n.GetInput()[1:] {
				node := nodeOf(in)
				keys[node] = strings.Contains(node, keysName) || strings.Contains(node, readName)
			}
			if rank := nodeOf(n.GetInput()[0]); rank == n.GetName()+rankSuffix {
				keys[rank] = true
			}
		case n.GetOp() == tfbridge.OpHideShape, n.GetOp() == "EnsureShape" && strings.Contains(n.GetName(), rankName):
			checked[n.GetName()] = n.GetInput()[0]
		case n.GetOp() == "MapDataset" && isMade(n.GetAttr()["f"].GetFunc().GetName()):
			checked[n.GetName()] = n.GetInput()[0]
		}
	}
	if len(checked) == 0 {
		return nodes
	}
	passed := func(tensor string) string {
		for node := nodeOf(tensor); checked[node] != ""; node = nodeOf(tensor) {
			tensor = checked[node]
		}
		return tensor
	}
	kept := slices.DeleteFunc(nodes, func(n *tfproto.NodeDef) bool { return checked[n.GetName()] != "" || keys[n.GetName()] })
	for _, n := range kept {
		n.Input = slices.DeleteFunc(n.Input, func(in string) bool {
			waits, ok := strings.CutPrefix(in, "^")
			return ok && (checked[waits] != "" || keys[waits])
		})
		for i, in := range n.GetInput() {
			n.Input[i] = passed(in)
		}
	}
	for name, tensor := range returned {
		returned[name] = passed(tensor)
	}
	return kept
}
