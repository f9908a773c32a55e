package savedmodel

import (
	"fmt"
	"path/filepath"
	"testing"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel/policy"
)

// The path of a table may come from an asset through operations that pass it on
// unchanged, and only those.
func TestWaysOfAPath(t *testing.T) {
	table := func(from string) *tfproto.NodeDef {
		return node("t", "InitializeTableFromTextFileV2", "x", from)
	}
	y, path, etc := node("y", "Identity", "x"), node("path", "Placeholder"), constant("etc", "/etc/x")
	variable := handleNode("v")
	assign := func(name, from string) *tfproto.NodeDef { return node(name, "AssignVariableOp", "v", from) }
	init := functionOf("init", []string{"p"}, node("n", "InitializeTableFromTextFileV2", "p", "p"))
	pass := func(op string, n int, use string) []*tfproto.NodeDef {
		return []*tfproto.NodeDef{node("i", op, []string{"path", "etc"}[:n]...), table(use)}
	}
	within := func(body ...*tfproto.NodeDef) []*tfproto.FunctionDef {
		return []*tfproto.FunctionDef{functionOf("f", []string{"p", "q"}, body...)}
	}
	inner := func(from string) *tfproto.NodeDef {
		return node("n", "InitializeTableFromTextFileV2", "q", from)
	}
	called := called("c", "f", "path", "etc")
	ladder := func(n int) (nodes []*tfproto.NodeDef) {
		from := "path"
		for i := range n {
			nodes = append(nodes, node(fmt.Sprintf("i%03d", i), "Identity", from))
			from = nodes[i].Name
		}
		return append(nodes, table(from))
	}
	for _, tt := range []struct {
		name      string
		nodes     []*tfproto.NodeDef
		functions []*tfproto.FunctionDef
		allowed   bool
	}{
		{"the asset", []*tfproto.NodeDef{table("path")}, nil, true},
		{"another output", []*tfproto.NodeDef{table("path:1")}, nil, false},
		{"an identity", pass("Identity", 1, "i"), nil, true},
		{"another output of an identity", pass("Identity", 1, "i:1"), nil, false},
		{"the first of several", pass("IdentityN", 2, "i"), nil, true},
		{"the second of several", pass("IdentityN", 2, "i:1"), nil, false},
		{"the third of two", pass("IdentityN", 2, "i:2"), nil, false},
		{"a snapshot", pass("Snapshot", 1, "i"), nil, true},
		{"another operation", pass("StringLower", 1, "i"), nil, false},
		{"an identity of nothing", []*tfproto.NodeDef{node("i", "Identity", "^path"), table("i")}, nil, false},
		{"no input at all", []*tfproto.NodeDef{node("t", "InitializeTableFromTextFileV2", "x")}, nil, false},
		{"a default", []*tfproto.NodeDef{node("i", "PlaceholderWithDefault", "path"), table("i")}, nil, true},
		{"a default of two", []*tfproto.NodeDef{node("i", "PlaceholderWithDefault", "path", "path"), table("i")}, nil, false},
		{"what a signature feeds", []*tfproto.NodeDef{table("x")}, nil, false},
		{"as many identities as may be", ladder(policy.MaxTraceDepth), nil, true},
		{"too many identities", ladder(policy.MaxTraceDepth + 1), nil, false},
		{"a variable", []*tfproto.NodeDef{variable, assign("a", "path"), node("r", "ReadVariableOp", "v"), table("r")}, nil, true},
		{"a variable that is set twice alike", []*tfproto.NodeDef{variable, assign("a", "path"), assign("b", "path"), node("r", "ReadVariableOp", "v"), table("r")}, nil, true},
		{"a variable that is looked at", []*tfproto.NodeDef{variable, assign("a", "path"), node("k", "VarIsInitializedOp", "v"), node("d", "DisableCopyOnRead", "v"), node("r", "ReadVariableOp", "v"), table("r")}, nil, true},
		{"a variable that is also set otherwise", []*tfproto.NodeDef{variable, assign("a", "path"), assign("b", "etc"), node("r", "ReadVariableOp", "v"), table("r")}, nil, false},
		{"a variable that is first set otherwise", []*tfproto.NodeDef{variable, assign("a", "etc"), assign("b", "path"), node("r", "ReadVariableOp", "v"), table("r")}, nil, false},
		{"a variable that is set to anything", []*tfproto.NodeDef{variable, assign("a", "x"), assign("b", "path"), node("r", "ReadVariableOp", "v"), table("r")}, nil, false},
		{"a variable that nothing sets", []*tfproto.NodeDef{variable, node("r", "ReadVariableOp", "v"), table("r")}, nil, false},
		{"a variable that is handed on", []*tfproto.NodeDef{variable, assign("a", "path"), node("h", "Identity", "v"), node("r", "ReadVariableOp", "v"), table("r")}, nil, false},
		{"a variable beside one of no name", []*tfproto.NodeDef{variable, assign("a", "path"), node("w", "VarHandleOp"), node("r", "ReadVariableOp", "v"), table("r")}, nil, false},
		{"a variable that a function holds too", []*tfproto.NodeDef{variable, assign("a", "path"), node("r", "ReadVariableOp", "v"), table("r")},
			[]*tfproto.FunctionDef{functionOf("g", nil, with(node("w", "VarHandleOp"), "shared_name", text("v")))}, false},
		{"a variable that a function is called with", []*tfproto.NodeDef{variable, assign("a", "path"), node("g", "g", "v"), node("r", "ReadVariableOp", "v"), table("r")},
			[]*tfproto.FunctionDef{functionOf("g", []string{"h"})}, false},
		{"a variable of no name", []*tfproto.NodeDef{node("v", "VarHandleOp"), assign("a", "path"), node("r", "ReadVariableOp", "v"), table("r")}, nil, false},
		{"a variable of another kind", []*tfproto.NodeDef{with(node("v", "VariableV2"), "shared_name", text("v")), assign("a", "path"), node("r", "ReadVariableOp", "v"), table("r")}, nil, false},
		{"an argument", []*tfproto.NodeDef{called}, within(inner("p")), true},
		{"an argument, handed on", []*tfproto.NodeDef{called}, within(node("i", "Identity", "p"), inner("i:output:0")), true},
		{"the second output within", []*tfproto.NodeDef{called}, within(node("i", "IdentityN", "p", "q"), inner("i:output:1")), false},
		{"the first output within", []*tfproto.NodeDef{called}, within(node("i", "IdentityN", "p", "q"), inner("i:output:0")), true},
		{"an output of no number", []*tfproto.NodeDef{called}, within(node("i", "Identity", "p"), inner("i:output:x")), false},
		{"an output without a number", []*tfproto.NodeDef{called}, within(node("i", "Identity", "p"), inner("i:output")), true},
		{"a node in the place of an argument", []*tfproto.NodeDef{called}, within(node("i", "Identity", "p"), inner("i")), false},
		{"an argument of no such output", []*tfproto.NodeDef{called}, within(inner("p:1")), false},
		{"another argument", []*tfproto.NodeDef{called}, within(inner("q")), false},
		{"a node that is not there", []*tfproto.NodeDef{called}, within(inner("gone:output:0")), false},
		{"a variable within", []*tfproto.NodeDef{called}, within(node("r", "ReadVariableOp", "p"), inner("r:value:0")), false},
		{"a default within", []*tfproto.NodeDef{called}, within(node("r", "PlaceholderWithDefault", "p"), inner("r:output:0")), false},
		{"an argument of two callers alike", []*tfproto.NodeDef{node("c", "init", "path"), node("d", "init", "path")}, []*tfproto.FunctionDef{init}, true},
		{"an argument of two callers", []*tfproto.NodeDef{node("c", "init", "path"), node("d", "init", "x")}, []*tfproto.FunctionDef{init}, false},
		{"the result of a function", []*tfproto.NodeDef{node("c", "g", "path"), table("c")}, []*tfproto.FunctionDef{functionOf("g", []string{"p"})}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := graph(append([]*tfproto.NodeDef{y, path, etc}, tt.nodes...), tt.functions...)
			m.MetaGraphs[0].AssetFileDef = []*tfproto.AssetFileDef{assetOf("path:0", "words")}
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "assets/words"), nil)
			writeModel(t, dir, m)
			if _, err := Read(dir, nil); tt.allowed && err != nil {
				t.Errorf("refused: %v", err)
			} else if !tt.allowed {
				wantError(t, err, millrace.ErrUnsafeModel, `"InitializeTableFromTextFileV2"`)
			}
		})
	}
}
