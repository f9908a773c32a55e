package savedmodel

import (
	"fmt"
	"testing"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/savedmodel/policy"
)

// A saver writes to the file that is fed, in parts with names that it derives.
// Operations that write anywhere else are refused.
func TestSavePolicy(t *testing.T) {
	y, file, names := node("y", "Identity", "x"), node("file", "Placeholder"), constant("names", "")
	part, dots := constant("part", "_temp/part"), constant("dots", "/../../part")
	save := func(to string) *tfproto.NodeDef { return node("save", "SaveV2", to, "names", "names", "x") }
	join := func(inputs ...string) *tfproto.NodeDef { return node("join", "StringJoin", inputs...) }
	either := func(then, otherwise string) *tfproto.NodeDef { return node("either", "Select", "x", then, otherwise) }
	merge := func(parts, to string) *tfproto.NodeDef { return node("merge", "MergeV2Checkpoints", parts, to) }
	identities := func(n int) (nodes []*tfproto.NodeDef) {
		from := "file"
		for i := range n {
			nodes = append(nodes, node(fmt.Sprintf("i%d", i), "Identity", from))
			from = nodes[i].Name
		}
		return nodes
	}
	tests := []struct {
		name   string
		nodes  []*tfproto.NodeDef
		unsafe bool
	}{
		{"the file", []*tfproto.NodeDef{save("file")}, false},
		{"the file, handed on", []*tfproto.NodeDef{node("same", "Identity", "file"), save("same")}, false},
		{"another file", []*tfproto.NodeDef{constant("etc", "/etc/x"), save("etc")}, true},
		{"what TensorFlow 1 writes to", []*tfproto.NodeDef{constant("old", "model"), save("old")}, false},
		{"almost that", []*tfproto.NodeDef{constant("old", "model2"), save("old")}, true},
		{"two of them", []*tfproto.NodeDef{constant("old", "model", "model"), save("old")}, true},
		{"a part", []*tfproto.NodeDef{part, join("file", "part"), save("join")}, false},
		{"a part elsewhere", []*tfproto.NodeDef{dots, join("file", "dots"), save("join")}, true},
		{"a part of a part", []*tfproto.NodeDef{part, join("file", "part", "part"), save("join")}, true},
		{"a part of two names", []*tfproto.NodeDef{constant("parts", "_temp/part", "x"), join("file", "parts"), save("join")}, true},
		{"a part alone", []*tfproto.NodeDef{part, join("part"), save("join")}, true},
		{"without a part", []*tfproto.NodeDef{join("file"), save("join")}, true},
		{"with no separator", []*tfproto.NodeDef{part, with(join("file", "part"), "separator", text("")), save("join")}, false},
		{"with an odd separator", []*tfproto.NodeDef{part, with(join("file", "part"), "separator", fn("")), save("join")}, true},
		{"one of a part", []*tfproto.NodeDef{part, node("either", "Select", "x", "part"), join("file", "either"), save("join")}, true},
		{"nothing packed", []*tfproto.NodeDef{node("parts", "Pack"), merge("parts", "file")}, true},
		{"another output", []*tfproto.NodeDef{node("same", "Identity", "file"), save("same:1")}, true},
		{"as many identities as may be", append(identities(2*policy.MaxTraceDepth), save("i127")), false},
		{"too many identities", append(identities(2*policy.MaxTraceDepth+1), save("i128")), true},
		{"with a separator", []*tfproto.NodeDef{part, with(join("file", "part"), "separator", text("/")), save("join")}, true},
		{"one of two parts", []*tfproto.NodeDef{part, constant("other", ".part"), either("other", "part"), join("file", "either"), save("join")}, false},
		{"the first elsewhere", []*tfproto.NodeDef{part, dots, either("dots", "part"), join("file", "either"), save("join")}, true},
		{"the second elsewhere", []*tfproto.NodeDef{part, dots, either("part", "dots"), join("file", "either"), save("join")}, true},
		{"a shard", []*tfproto.NodeDef{constant("n", "1"), node("shard", "ShardedFilename", "file", "n", "n"), save("shard")}, false},
		{"a shard elsewhere", []*tfproto.NodeDef{constant("etc", "/etc/x"), node("shard", "ShardedFilename", "etc", "x", "x"), save("shard")}, true},
		{"merged", []*tfproto.NodeDef{node("parts", "Pack", "file", "file"), merge("parts", "file")}, false},
		{"merged to elsewhere", []*tfproto.NodeDef{constant("etc", "/etc/x"), node("parts", "Pack", "file"), merge("parts", "etc")}, true},
		{"merged from elsewhere", []*tfproto.NodeDef{constant("etc", "/etc/x"), node("parts", "Pack", "file", "etc"), merge("parts", "file")}, true},
		{"in another way", []*tfproto.NodeDef{node("lower", "StringLower", "file"), save("lower")}, true},
		{"for what nothing asks for", []*tfproto.NodeDef{save("file"), node("z", "Identity", "x", "^save")}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := graph(append([]*tfproto.NodeDef{y, file, names}, tt.nodes...))
			m.MetaGraphs[0].SaverDef = &tfproto.SaverDef{FilenameTensorName: "file:0", SaveTensorName: "save:0"}
			_, err := readGraph(t, m, nil)
			if !tt.unsafe && err != nil {
				t.Errorf("refused: %v", err)
			} else if tt.unsafe {
				wantError(t, err, millrace.ErrUnsafeModel)
			}
		})
	}
}

// Neither a signature nor the operations at load may save.
func TestSavingIsAskedFor(t *testing.T) {
	m := graph([]*tfproto.NodeDef{node("y", "Identity", "x", "^save"), node("file", "Placeholder"), constant("names", ""),
		node("save", "SaveV2", "file", "names", "names", "x")})
	m.MetaGraphs[0].SaverDef = &tfproto.SaverDef{FilenameTensorName: "file:0"}
	_, err := readGraph(t, m, nil)
	wantError(t, err, millrace.ErrUnsafeModel, `"SaveV2" (node "save")`)
}

// The filename of a saver counts as safe only if no signature feeds it and it is a
// placeholder, optionally with TensorFlow 1's default.
func TestFilenameOfTheSaver(t *testing.T) {
	saving := func(file ...*tfproto.NodeDef) *tfproto.SavedModel {
		m := graph(append([]*tfproto.NodeDef{node("y", "Identity", "x"), constant("names", ""),
			node("save", "SaveV2", "file", "names", "names", "x")}, file...))
		m.MetaGraphs[0].SaverDef = &tfproto.SaverDef{FilenameTensorName: "file:0"}
		return m
	}
	tests := []struct {
		name   string
		model  *tfproto.SavedModel
		unsafe bool
	}{
		{"a default", saving(constant("d", "model"), node("file", "PlaceholderWithDefault", "d")), false},
		{"a default elsewhere", saving(constant("d", "/etc/x"), node("file", "PlaceholderWithDefault", "d")), true},
		{"a default of two", saving(constant("d", "model", "model"), node("file", "PlaceholderWithDefault", "d")), true},
		{"computed", saving(node("file", "StringLower", "x")), true},
		{"fed", saving(node("file", "PlaceholderWithDefault", "x")), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readGraph(t, tt.model, nil)
			if !tt.unsafe && err != nil {
				t.Errorf("refused: %v", err)
			} else if tt.unsafe {
				wantError(t, err, millrace.ErrUnsafeModel, `"SaveV2"`)
			}
		})
	}
}
