package policy

import (
	"fmt"

	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// Checker checks one graph. It caches its results about the graph.
type Checker struct {
	*tracer
	missing error // a missing asset; nil: all assets exist
	suspect []suspect
	held    map[*metagraph.Function]map[string]int // see holders

	// The parts that run at load, and to restore variables.
	init, restore *reach
	roots         []root   // all roots, for messages
	visits        int      // visited nodes of the main graph, for all roots
	restored      []string // names of the tensors that the restore operation reads
}

// New returns a checker of a graph. allowed names the operations that the caller allows.
func New(m *metagraph.Graph, r *metagraph.Report, allowed map[string]bool) *Checker {
	g := &callGraph{r: r, m: m, allowed: allowed, effects: map[*metagraph.Function]*effects{}}
	return &Checker{tracer: &tracer{callGraph: g, callers: map[string][]call{}, fed: map[string]bool{}, traced: map[argument]origin{}}}
}

// place describes the location of a suspect.
func (s suspect) place() string {
	switch {
	case s.named && s.caller == nil && s.node.Attrs == nil:
		return "the gradient of " + modelfile.Quote(s.node.Name)
	case s.node.Name == "":
		return "an attribute of function " + modelfile.Quote(s.caller.Name)
	case s.caller == nil:
		return "node " + modelfile.Quote(s.node.Name)
	}
	return fmt.Sprintf("node %s of function %s", modelfile.Quote(s.node.Name), modelfile.Quote(s.caller.Name))
}

// input returns data input i of a suspect, "" if there is none.
func (s suspect) input(i int) string {
	if in := s.node.DataInputs(); i < len(in) {
		return in[i]
	}
	return ""
}

// Limits of the policy's walks.
const (
	MaxFunctionDepth = 256      // depth of nested calls
	maxFunctionCalls = 1 << 20  // calls in one function and in its callees
	maxVisits        = 16 << 20 // visits of nodes, for all signatures together
	MaxTraceDepth    = 64       // identities between a file name and its use
	MaxViolations    = 32       // unsafe operations in one error
)
