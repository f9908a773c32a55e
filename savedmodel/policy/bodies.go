package policy

import (
	"maps"
	"slices"
	"strings"

	"millrace/internal/base/wire"
	"millrace/savedmodel/message"
	"millrace/savedmodel/metagraph"
)

// recursionCheck finds functions that TensorFlow would follow until its stack
// overflows.
type recursionCheck struct{ *callGraph }

// body is the nodes of a function, or of the main graph, in an order in which each
// comes after its inputs. The outputs of a NextIteration do not count, since they go
// back to the head of a loop.
type body struct {
	fn    *metagraph.Function // nil: the main graph
	nodes []metagraph.Node
	at    map[string]int // positions in nodes
}

// bodyOf sorts the nodes of a function. It keeps its own stack, which a hostile model
// cannot exhaust.
func (c recursionCheck) bodyOf(fn *metagraph.Function) *body {
	all := map[string]metagraph.Node{}
	var names []string
	if fn == nil {
		for _, name := range slices.Sorted(maps.Keys(c.m.Nodes)) {
			all[name], _ = c.m.Node(name)
			names = append(names, name)
		}
	} else {
		for _, b := range fn.Nodes {
			n := metagraph.ParseNode(b)
			all[n.Name] = n
			names = append(names, n.Name)
		}
	}
	b := &body{fn: fn, at: make(map[string]int, len(all))}
	begun := make(map[string]bool, len(all))
	for _, name := range names {
		for stack := []string{name}; len(stack) > 0; {
			top := stack[len(stack)-1]
			n, ok := all[top]
			if _, done := b.at[top]; done || !ok {
				stack = stack[:len(stack)-1]
				continue
			}
			waits := false
			if !begun[top] {
				begun[top] = true
				for _, in := range n.DataInputs() {
					from := b.producer(in)
					if f, ok := all[from]; ok && !begun[from] && !turnsBack(f) {
						stack, waits = append(stack, from), true
					}
				}
			}
			if !waits {
				b.at[top] = len(b.nodes)
				b.nodes = append(b.nodes, n)
				stack = stack[:len(stack)-1]
			}
		}
	}
	return b
}

// turnsBack reports whether a node passes its input to the next iteration of a loop.
func turnsBack(n metagraph.Node) bool { return n.Op == "NextIteration" || n.Op == "RefNextIteration" }

// producer returns the name of the node, or of the argument, that an input is.
func (b *body) producer(input string) string {
	if b.fn == nil {
		return metagraph.ParseRef(input).Node
	}
	name, _, _ := strings.Cut(input, ":")
	return name
}

// returned returns the nodes or arguments that produce the results of a function.
func (b *body) returned() []string {
	byName := map[string]string{}
	for f := range wire.Fields(b.fn.Def) {
		if f.Num == metagraph.FunctionRet {
			name, tensor := message.MapEntry(f.Bytes)
			byName[name] = b.producer(string(tensor))
		}
	}
	var all []string
	for _, out := range b.fn.Outputs {
		all = append(all, byName[out.Name])
	}
	return all
}

// calleesOf returns the functions of the model that a node may call.
func (c recursionCheck) calleesOf(n metagraph.Node) []string {
	var names []string
	if c.m.Functions[n.Op] != nil {
		names = append(names, n.Op)
	}
	for _, a := range n.Attrs {
		message.FunctionsIn(a.Value, message.AttrValueType(), func(name string) {
			if c.m.Functions[name] != nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
		})
	}
	return names
}
