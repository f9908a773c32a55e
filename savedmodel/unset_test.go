package savedmodel

import (
	"fmt"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel/policy"
)

// handleNode makes a node that holds the variable of its name.
func handleNode(name string) *tfproto.NodeDef {
	return with(node(name, "VarHandleOp"), "shared_name", text(name))
}

// A variable that nothing restores or sets is found, however its handle reaches the
// operation that reads it.
func TestUnsetVariables(t *testing.T) {
	read := functionOf("read", []string{"h"}, node("r", "ReadVariableOp", "h"))
	through := functionOf("through", []string{"h"}, node("i", "Identity", "h"), called("c", "read", "i:output:0"))
	set := functionOf("set", []string{"h"}, node("a", "AssignVariableOp", "h", "h"))
	lend := functionOf("lend", []string{"h"}, node("r", "ReadVariableOp", "h"))
	lend.Ret = map[string]string{"out": "h"}
	branch := with(with(node("y", "If", "x", "v"), "then_branch", fn("read")), "else_branch", fn("read"))
	loop := func(body string) *tfproto.NodeDef {
		return with(with(node("l", "While", "v"), "cond", fn("read")), "body", fn(body))
	}
	many := functionOf("many", []string{"list", "h"}, node("r", "ReadVariableOp", "h"))
	many.Signature.InputArg[0].NumberAttr = "N"
	handedOn := func(n int) *tfproto.SavedModel {
		nodes, from := []*tfproto.NodeDef{handleNode("v")}, "v"
		for i := range n {
			nodes = append(nodes, node(fmt.Sprintf("i%03d", i), "Identity", from))
			from = nodes[i+1].Name
		}
		return graph(append(nodes, node("y", "ReadVariableOp", "v")))
	}
	feeding := func(read, fed string) *tfproto.SavedModel {
		m := graph([]*tfproto.NodeDef{handleNode("v"), node(read, "ReadVariableOp", "v"), node("n", "IdentityN", read, read), node("y", "Identity", "n:1")})
		m.MetaGraphs[0].SignatureDef["serving_default"].Inputs["x"].Encoding = &tfproto.TensorInfo_Name{Name: strings.Replace(fed, "r:1", "n:0", 1)}
		return m
	}
	tests := []struct {
		name  string
		model *tfproto.SavedModel
		unset bool
	}{
		{"read", graph([]*tfproto.NodeDef{handleNode("v"), node("y", "ReadVariableOp", "v")}), true},
		{"read by a function", graph([]*tfproto.NodeDef{handleNode("v"), called("y", "read", "v")}, read), true},
		{"read deeper", graph([]*tfproto.NodeDef{handleNode("v"), called("y", "through", "v")}, read, through), true},
		{"read for another node", graph([]*tfproto.NodeDef{handleNode("v"), node("r", "ReadVariableOp", "v"), node("y", "Identity", "x", "^r")}), true},
		{"read beside a loop that reads", graph([]*tfproto.NodeDef{handleNode("v"), loop("read"), node("y", "ReadVariableOp", "v")}, read), true},
		{"read for no signature", graph([]*tfproto.NodeDef{handleNode("v"), node("r", "ReadVariableOp", "v"), node("y", "Identity", "x")}), false},
		{"read before what is fed", graph([]*tfproto.NodeDef{handleNode("v"), node("y", "Identity", "x")}), false},
		{"perhaps read", graph([]*tfproto.NodeDef{handleNode("v"), branch}, read), false},
		{"set", graph([]*tfproto.NodeDef{handleNode("v"), node("y", "ReadVariableOp", "v"), node("a", "AssignVariableOp", "v", "x")}), false},
		{"set by a function", graph([]*tfproto.NodeDef{handleNode("v"), node("y", "ReadVariableOp", "v"), called("a", "set", "v")}, set), false},
		{"set in a loop", graph([]*tfproto.NodeDef{handleNode("v"), node("y", "ReadVariableOp", "v"), loop("set")}, read, set), false},
		{"set after a loop", graph([]*tfproto.NodeDef{handleNode("v"), node("y", "ReadVariableOp", "v"), loop("read"), node("a", "AssignVariableOp", "l", "x")}, read), false},
		{"set through an identity", graph([]*tfproto.NodeDef{handleNode("v"), node("y", "ReadVariableOp", "v"), node("i", "Identity", "v"), node("a", "AssignVariableOp", "i", "x")}), false},
		{"handed to a function that returns it", graph([]*tfproto.NodeDef{handleNode("v"), node("y", "ReadVariableOp", "v"), called("c", "lend", "v")}, lend), false},
		{"handed to an operation", graph([]*tfproto.NodeDef{handleNode("v"), node("y", "ReadVariableOp", "v"), node("p", "Pack", "v")}), false},
		{"gathered", graph([]*tfproto.NodeDef{handleNode("v"), node("y", "ResourceGather", "v", "x")}), true},
		{"looked at", graph([]*tfproto.NodeDef{handleNode("v"), node("s", "VariableShape", "v"), node("i", "VarIsInitializedOp", "v"), node("y", "ReadVariableOp", "v")}), true},
		{"read through an identity", graph([]*tfproto.NodeDef{handleNode("v"), node("i", "Identity", "v"), node("y", "ReadVariableOp", "i")}), true},
		{"read by an operation of its own", graph([]*tfproto.NodeDef{handleNode("v"), node("y", "read", "v")}, read), true},
		{"set by an operation of its own", graph([]*tfproto.NodeDef{handleNode("v"), node("y", "ReadVariableOp", "v"), node("a", "set", "v")}, set), false},
		{"read in one branch", graph([]*tfproto.NodeDef{handleNode("v"), with(node("y", "StatelessIf", "x", "v"), "then_branch", fn("read"))}, read), true},
		{"the condition of a branch", graph([]*tfproto.NodeDef{handleNode("v"), with(node("c", "If", "v"), "then_branch", fn("read")), node("y", "ReadVariableOp", "v")}, read), false},
		{"handed to a call of nothing", graph([]*tfproto.NodeDef{handleNode("v"), node("c", "PartitionedCall", "v"), node("y", "ReadVariableOp", "v")}), false},
		{"handed to a function without a place for it", graph([]*tfproto.NodeDef{handleNode("v"), called("c", "read", "x", "v"), node("y", "ReadVariableOp", "v")}, read), false},
		{"handed to one of many arguments", graph([]*tfproto.NodeDef{handleNode("v"), called("c", "many", "x", "v"), node("y", "ReadVariableOp", "v")}, many), false},
		{"set within a function that is called twice", graph([]*tfproto.NodeDef{handleNode("v"), handleNode("w"), called("c", "set", "w"), called("d", "set", "v"), node("y", "ReadVariableOp", "v")}, set), false},
		{"as many identities as may be", handedOn(policy.MaxTraceDepth), true},
		{"too many identities", handedOn(policy.MaxTraceDepth + 1), false},
		{"fed after it is read", feeding("r", "r:0"), false},
		{"fed at another output", feeding("r", "r:1"), true},
		{"beside a variable of no name", graph([]*tfproto.NodeDef{handleNode("v"), node("w", "VarHandleOp"), node("y", "ReadVariableOp", "v")}), false},
		{"of another kind", graph([]*tfproto.NodeDef{with(node("v", "VariableV2"), "shared_name", text("v")), node("y", "ReadVariableOp", "v")}), false},
		{"held twice", graph([]*tfproto.NodeDef{handleNode("v"), node("y", "ReadVariableOp", "v"), with(node("w", "VarHandleOp"), "shared_name", text("v"))}), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readGraph(t, tt.model, nil)
			if tt.unset {
				wantError(t, err, millrace.ErrModel, `signature "serving_default"`, `tensor "y"`, `the variable "v", which nothing restores or sets`, "model.export")
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// Of several variables without a value the first by name is named, the others are
// counted.
func TestUnsetVariablesAreCounted(t *testing.T) {
	m := graph([]*tfproto.NodeDef{handleNode("b"), handleNode("a"), handleNode("c"), node("ra", "ReadVariableOp", "a"), node("rb", "ReadVariableOp", "b"),
		node("rc", "ReadVariableOp", "c"), node("again", "ReadVariableOp", "a"), node("y", "Identity", "x", "^rb", "^ra", "^rc", "^again")})
	_, err := readGraph(t, m, nil)
	wantError(t, err, millrace.ErrModel, `it reads the variable "a" (and 2 more), which nothing restores or sets`)
}

// One output that reads such a variable does not prevent computing the others.
func TestUnsetOutput(t *testing.T) {
	m := graph([]*tfproto.NodeDef{handleNode("v"), node("r", "ReadVariableOp", "v"), node("y", "Identity", "x")})
	s := m.MetaGraphs[0].SignatureDef["serving_default"]
	s.Outputs["r"] = &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: "r:0"}, Dtype: tfproto.DataType_DT_STRING}
	read, err := readGraph(t, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := read.Signatures["serving_default"].Outputs
	if out[0].Err == nil || !strings.Contains(out[0].Err.Error(), "model.export") || out[1].Err != nil {
		t.Errorf("errors %v and %v", out[0].Err, out[1].Err)
	}
}
