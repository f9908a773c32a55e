package graph

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel/effect"
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

// CheckFreezable returns an error of class ErrModel if [Model.FreezeSignature] would refuse a
// signature of a GraphDef with these outputs, as far as its operations say so, or if the signature
// draws random numbers, so that two calls give different values. It needs no runtime.
func CheckFreezable(def []byte, outputs ...string) error {
	g, err := parseGraphDef(def)
	if err != nil {
		return err
	}
	if err := prune(g, outputs); err != nil {
		return err
	}
	if err := freezableNodes(g.Node); err != nil {
		return err
	}
	for _, f := range g.GetLibrary().GetFunction() {
		if err := freezableNodes(f.NodeDef); err != nil {
			return err
		}
	}
	return nil
}

// freezableNodes checks the nodes of the graph or of a function.
func freezableNodes(nodes []*tfproto.NodeDef) error {
	for _, n := range nodes {
		row, known := effect.Of(n.Op)
		why := ""
		switch {
		case !known || isTable(n) || slices.Contains([]string{"VarHandleOp", "VariableV2", "Variable"}, n.Op):
		case row.State && drawsNumbers(n.Op):
			why = "draws random numbers that no seed of the caller decides"
		case strings.HasPrefix(n.Op, "Assign") || strings.HasPrefix(n.Op, "ResourceScatter") || len(row.Refs) > 0:
			why = "changes a variable"
		case row.State && row.Makes:
			why = "stands for something that is made when the model is loaded"
		}
		if why != "" {
			return millrace.Errorf(millrace.ErrModel, "the node %s (%s) %s", millrace.Quote(n.Name), n.Op, why)
		}
	}
	return nil
}

// drawsNumbers reports whether an operation with state is a generator of random numbers.
func drawsNumbers(op string) bool {
	others := []string{"TruncatedNormal", "ParameterizedTruncatedNormal", "Multinomial", "RngReadAndSkip", "RngSkip", "SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2"}
	return strings.HasPrefix(op, "Random") || strings.HasPrefix(op, "Stateful") && op != "StatefulPartitionedCall" || slices.Contains(others, op)
}
