package graph

import (
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// statefulness classifies bodies by whether they may run again.
type statefulness int

const (
	stateless  statefulness = iota
	repeatable              // has state, but may run again without harm
	stateful                // draws random numbers, writes, prints
)

// repeatables are stateful operations that may run again.
var repeatables = map[string]bool{"Assert": true, "ReadVariableOp": true, "ResourceGather": true, "ResourceGatherNd": true}

// stateOf returns the statefulness of a body, from its operations.
func stateOf(g *tfbridge.Graph) statefulness {
	state := stateless
	seen := map[string]bool{}
	for _, op := range g.Operations() {
		typ := op.Type()
		if seen[typ] {
			continue
		}
		seen[typ] = true
		switch {
		case !hasState(g, typ):
		case repeatables[typ]:
			state = max(state, repeatable)
		default:
			return stateful
		}
	}
	return state
}

// hasState reports whether TensorFlow counts operations of a type as stateful. An
// unknown type is.
func hasState(g *tfbridge.Graph, opType string) bool {
	data, err := g.OpDef(opType)
	if err != nil {
		return true
	}
	var def tfproto.OpDef
	return proto.Unmarshal(data, &def) != nil || def.IsStateful
}
