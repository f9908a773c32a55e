package savedmodel

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/modeltest"
	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/policy"
)

// E19, E20: models that TensorFlow runs without a warning.
func TestUnsafeModels(t *testing.T) {
	tests := []struct{ name, want string }{
		{"writes_file", `signature "serving_default": operation "ReadFile" (node "ReadFile" of function "__inference_serve_`},
		{"writes_file", `it also has "WriteFile"`},
		{"python_function", `operation "PyFunc"`},
		{"writes_file_at_load", `operation "WriteFile" (node "WriteFile"), which the init operation runs at load, writes files on the host`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read(filepath.Join(models, tt.name), nil)
			wantError(t, err, millrace.ErrUnsafeModel, tt.want, tt.name+"/saved_model.pb")
		})
	}
}

func TestAllowOps(t *testing.T) {
	dir := filepath.Join(models, "writes_file")
	_, err := Read(dir, &Options{AllowOps: []string{"ReadFile"}})
	wantError(t, err, millrace.ErrUnsafeModel, `"WriteFile"`)
	if _, err := Read(dir, &Options{AllowOps: []string{"ReadFile", "WriteFile"}}); err != nil {
		t.Error(err)
	}
	// The operation is refused because the graph contains it, whichever signature runs
	// it.
	_, err = Read(dir, &Options{Signatures: []string{"harmless"}})
	wantError(t, err, millrace.ErrUnsafeModel, `"ReadFile"`)
}

// wrapper makes a function that runs one operation.
func wrapper(name, op string) *tfproto.FunctionDef {
	return functionOf(name, []string{"in"}, node("it", op, "in"))
}

// Ways to hide an operation, and uses that are fine.
func TestPolicy(t *testing.T) {
	nodes := func(n ...*tfproto.NodeDef) []*tfproto.NodeDef { return n }
	list := func(names ...string) *tfproto.AttrValue {
		l := &tfproto.AttrValue_ListValue{}
		for _, n := range names {
			l.Func = append(l.Func, &tfproto.NameAttrList{Name: n})
		}
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: l}}
	}
	bound := fn("harmless")
	bound.GetFunc().Attr = map[string]*tfproto.AttrValue{"F": fn("bad")}
	peer := func(f *tfproto.FunctionDef) *tfproto.FunctionDef {
		f.Attr = map[string]*tfproto.AttrValue{"api_implements": text("one interface")}
		return f
	}
	bad, harmless := wrapper("bad", "ReadFile"), wrapper("harmless", "Identity")
	defaults, attributes, calls := functionOf("defaults", nil), functionOf("attributes", nil), functionOf("calls", nil)
	defaults.Signature.Attr = []*tfproto.OpDef_AttrDef{{Name: "f", Type: "func", DefaultValue: fn("ReadFile")}}
	attributes.Attr = map[string]*tfproto.AttrValue{"x": fn("ReadFile")}
	calls.Attr = map[string]*tfproto.AttrValue{"x": fn("bad")}
	cache := functionOf("cache", []string{"n"}, node("c", "CacheDataset", "n", "n"))
	branch := with(with(node("b", "If", "x", "none"), "then_branch", fn("cache")), "else_branch", fn("cache"))
	cases := with(node("b", "StatelessCase", "x", "name"), "branches", list("cache", "cache"))
	tests := []struct {
		name  string
		model *tfproto.SavedModel
		want  string // "": allowed
	}{
		{"plain", graph(nodes(node("y", "Identity", "x"))), ""},
		{"unreached", graph(nodes(node("y", "Identity", "x"), node("z", "ReadFile", "x"))), `"ReadFile" (node "z"), which is in the graph`},
		{"input", graph(nodes(node("y", "Identity", "z"), node("z", "ReadFile", "x"))), `"ReadFile" (node "z")`},
		{"control", graph(nodes(node("y", "Identity", "x", "^z"), node("z", "WriteFile", "x", "x"))), `"WriteFile" (node "z")`},
		{"called", graph(nodes(called("y", "bad", "x")), bad), `node "it" of function "bad"`},
		{"function as operation", graph(nodes(node("y", "bad", "x")), bad), `node "it" of function "bad"`},
		{"uncalled", graph(nodes(called("y", "harmless", "x")), bad, harmless), `function "bad"`},
		{"nested", graph(nodes(called("y", "outer", "x")), functionOf("outer", []string{"a"}, called("c", "bad", "a")), bad), `function "bad"`},
		{"branch of a list", graph(nodes(with(node("y", "Case", "x", "x"), "branches", list("harmless", "bad"))), harmless, bad), `function "bad"`},
		{"loop", graph(nodes(with(with(node("y", "While", "x"), "cond", fn("harmless")), "body", fn("bad"))), harmless, bad), `function "bad"`},
		{"attribute of a function attribute", graph(nodes(with(node("y", "PartitionedCall", "x"), "f", bound)), harmless, bad), `function "bad"`},
		{"private attribute", graph(nodes(with(node("y", "Identity", "x"), "_later", fn("bad"))), bad), `function "bad"`},
		{"function hides an operation", graph(nodes(node("y", "Identity", "x")), wrapper("Identity", "Abs")), `function "Identity" has the name of an operation`},
		{"operation as a function", graph(nodes(called("y", "ReadFile", "x"))), `"ReadFile" (node "y")`},
		{"swapped for a peer", graph(nodes(called("y", "harmless", "x")), peer(wrapper("harmless", "Identity")), peer(bad)), `function "bad"`},
		{"print to the log", graph(nodes(node("y", "Identity", "x", "^p"), with(node("p", "PrintV2", "x"), "output_stream", text("stderr")))), ""},
		{"print to a file", graph(nodes(node("y", "Identity", "x", "^p"), with(node("p", "PrintV2", "x"), "output_stream", text("file:///x")))), "PrintV2"},
		{"descriptors in the model", graph(nodes(with(node("y", "DecodeProtoV2", "x"), "descriptor_source", text("bytes://abc")))), ""},
		{"descriptors in a file", graph(nodes(with(node("y", "EncodeProto", "x"), "descriptor_source", text("/etc/passwd")))), "EncodeProto"},
		{"vocabulary file", graph(nodes(node("y", "Identity", "x", "^v"), with(node("v", "FixedUnigramCandidateSampler", "x"), "vocab_file", text("/x")))), "FixedUnigram"},
		{"cache in memory", graph(nodes(node("y", "Identity", "x", "^c"), constant("none", ""), node("c", "CacheDataset", "x", "none"))), ""},
		{"cache in a file", graph(nodes(node("y", "Identity", "x", "^c"), constant("name", "/x"), node("c", "CacheDatasetV2", "x", "name", "x"))), "CacheDatasetV2"},
		{"cache named by a caller", graph(nodes(constant("none", ""), constant("name", "/x"), node("y", "Identity", "x", "^a", "^b"), called("a", "cache", "none"), called("b", "cache", "name")),
			functionOf("cache", []string{"n"}, node("c", "CacheDataset", "n", "n"))), "CacheDataset"},
		{"cache named by the first caller", graph(nodes(constant("none", ""), constant("name", "/x"), node("y", "Identity", "x", "^a", "^b"), called("a", "cache", "name"), called("b", "cache", "none")),
			functionOf("cache", []string{"n"}, node("c", "CacheDataset", "n", "n"))), "CacheDataset"},
		{"cache without a name, by its caller", graph(nodes(constant("none", ""), node("y", "Identity", "x", "^a"), called("a", "cache", "none")),
			functionOf("cache", []string{"n"}, node("i", "Identity", "n"), node("c", "CacheDataset", "n", "i:output:0"))), ""},
		{"a shared name and no function", graph(nodes(with(node("y", "Identity", "x"), "_later", fn("")))), ""},
		{"bound to itself", graph(nodes(with(node("y", "Identity", "x", "^c"), "T", text("")), constant("none", ""), with(called("c", "cache", "none"), "g", fn("cache"))),
			functionOf("cache", []string{"n"}, node("c", "CacheDataset", "n", "n"))), "CacheDataset"},
		{"in the default of an attribute", graph(nodes(node("y", "Identity", "x")), defaults), `operation "ReadFile" (an attribute of function "defaults"), which is in the graph`},
		{"in an attribute of the function", graph(nodes(node("y", "Identity", "x")), attributes), `operation "ReadFile" (an attribute of function "attributes")`},
		{"called by an attribute of the function", graph(nodes(node("y", "Identity", "x")), calls, bad), `function "bad"`},
		{"print to the log by default", graph(nodes(node("y", "Identity", "x", "^p"), node("p", "PrintV2", "x"))), ""},
		{"print where a caller says", graph(nodes(node("y", "Identity", "x", "^p"), with(node("p", "PrintV2", "x"), "output_stream", fn("harmless"))), harmless), "PrintV2"},
		{"descriptors by default", graph(nodes(node("y", "DecodeProtoV2", "x"))), ""},
		{"descriptors of nowhere", graph(nodes(with(node("y", "DecodeProtoV2", "x"), "descriptor_source", text("")))), ""},
		{"descriptors of a number", graph(nodes(with(node("y", "DecodeProtoV2", "x"), "descriptor_source", &tfproto.AttrValue{Value: &tfproto.AttrValue_I{I: 1}}))), "DecodeProtoV2"},
		{"no vocabulary file", graph(nodes(node("y", "Identity", "x", "^v"), node("v", "FixedUnigramCandidateSampler", "x"))), ""},
		{"a vocabulary file of no name", graph(nodes(node("y", "Identity", "x", "^v"), with(node("v", "FixedUnigramCandidateSampler", "x"), "vocab_file", text("")))), ""},
		{"a module of another type", graph(nodes(node("y", "Identity", "x", "^v"), with(node("v", "XlaCallModule", "x"), "module", fn("harmless"))), harmless), "XlaCallModule"},
		{"cache of two names", graph(nodes(node("y", "Identity", "x", "^c"), constant("none", "", ""), node("c", "CacheDataset", "x", "none"))), "CacheDataset"},
		{"cache without a name in a branch", graph(nodes(constant("none", ""), node("y", "Identity", "x"), branch), cache), ""},
		{"cache without a name in another branch", graph(nodes(constant("none", ""), node("y", "Identity", "x"), with(node("b", "StatelessIf", "x", "none"), "else_branch", fn("cache"))), cache), ""},
		{"cache without a name in a case", graph(nodes(constant("none", ""), node("y", "Identity", "x"), with(node("b", "Case", "x", "none"), "branches", list("cache"))), cache), ""},
		{"cache without a name in a stateless case", graph(nodes(constant("none", ""), node("y", "Identity", "x"), with(node("b", "StatelessCase", "x", "none"), "branches", list("harmless", "cache"))), cache, harmless), ""},
		{"cache without a name in a stateful call", graph(nodes(constant("none", ""), node("y", "Identity", "x"), with(node("b", "StatefulPartitionedCall", "none"), "f", fn("cache"))), cache), ""},
		{"cache in a call by another attribute", graph(nodes(constant("none", ""), node("y", "Identity", "x"), with(node("b", "If", "x", "none"), "cond", fn("cache"))), cache), "CacheDataset"},
		{"cache in one of the cases", graph(nodes(constant("none", ""), constant("name", "/x"), node("y", "Identity", "x"), cases), cache), "CacheDataset"},
		{"cache for a condition alone", graph(nodes(node("y", "Identity", "x"), with(node("b", "If", "x"), "then_branch", fn("cache"))), cache), "CacheDataset"},
		{"cache for no condition", graph(nodes(node("y", "Identity", "x"), with(node("b", "If"), "then_branch", fn("cache"))), cache), "CacheDataset"},
		{"restore in a signature", graph(nodes(node("y", "RestoreV2", "x", "x", "x"))), "RestoreV2"},
		{"table from an argument that nothing gives", graph(nodes(node("y", "Identity", "x")),
			functionOf("f", []string{"t", "path"}, node("i", "Identity", "path"), node("n", "InitializeTableFromTextFileV2", "t", "i:output:0"))), ""},
		{"table from an argument that a function gives", graph(nodes(node("y", "Identity", "x"), called("c", "f", "x", "x")),
			functionOf("f", []string{"t", "path"}, node("n", "InitializeTableFromTextFileV2", "t", "path"))), "InitializeTable"},
		{"table from a file", graph(nodes(node("y", "Identity", "x", "^t"), constant("name", "/x"), node("t", "InitializeTableFromTextFileV2", "x", "name"))), "InitializeTable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readGraph(t, tt.model, nil)
			if tt.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			} else if tt.want != "" {
				wantError(t, err, millrace.ErrUnsafeModel, tt.want)
			}
		})
	}
}

// Restoring is only allowed for the model's own variables, from the path that
// TensorFlow feeds.
func TestRestorePolicy(t *testing.T) {
	saver := func(m *tfproto.SavedModel) *tfproto.SavedModel {
		m.MetaGraphs[0].SaverDef = &tfproto.SaverDef{FilenameTensorName: "file:0", RestoreOpName: "restore"}
		return m
	}
	tensors := func(name string) *tfproto.NodeDef { return constant(name, "v") }
	tests := []struct {
		name  string
		model *tfproto.SavedModel
		want  string
	}{
		{"from the model", graph([]*tfproto.NodeDef{node("y", "Identity", "x"), node("file", "Placeholder"), tensors("names"), constant("whole", ""),
			node("restore", "RestoreV2", "file", "names", "whole")}), ""},
		{"through a function", graph([]*tfproto.NodeDef{node("y", "Identity", "x"), node("file", "Placeholder"), called("restore", "r", "file")},
			functionOf("r", []string{"prefix"}, tensors("names"), constant("whole", ""), node("v", "RestoreV2", "prefix", "names:output:0", "whole:output:0"))), ""},
		{"from elsewhere", graph([]*tfproto.NodeDef{node("y", "Identity", "x"), node("file", "Placeholder"), constant("etc", "/etc/x"), tensors("names"),
			node("restore", "RestoreV2", "etc", "names", "names")}), `"RestoreV2" (node "restore"), which the restore operation runs at load`},
		{"writes", graph([]*tfproto.NodeDef{node("y", "Identity", "x"), node("file", "Placeholder"),
			node("restore", "NoOp", "^w"), node("w", "WriteFile", "file", "file")}), `"WriteFile"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readGraph(t, saver(tt.model), nil)
			if tt.want == "" && err != nil {
				t.Errorf("refused: %v", err)
			} else if tt.want != "" {
				wantError(t, err, millrace.ErrUnsafeModel, tt.want)
			}
		})
	}
}

// A program has a restore operation only if the model has variables and a saver.
func TestProgramsRestore(t *testing.T) {
	nodes := []*tfproto.NodeDef{node("y", "Identity", "x")}
	for _, saver := range []*tfproto.SaverDef{nil, {FilenameTensorName: "file", RestoreOpName: "restore"}} {
		for _, index := range []bool{false, true} {
			m := graph(nodes)
			m.MetaGraphs[0].SaverDef = saver
			dir := t.TempDir()
			writeModel(t, dir, m)
			if index {
				scalar := floats(nil, 0, 4)
				scalar.Crc32C = modeltest.Checksum(make([]byte, 4))
				writeFile(t, filepath.Join(dir, indexName), indexOf(t, 1, []string{"v"}, scalar))
				writeFile(t, filepath.Join(dir, oneShard), make([]byte, 4))
			}
			read, err := Read(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			p, want := read.Program(), [2]string{}
			if saver != nil && index {
				want = [2]string{"restore", "file:0"}
			}
			if got := [2]string{p.RestoreOp, p.Filename}; got != want {
				t.Errorf("with a saver %v, an index %v: %q", saver != nil, index, got)
			}
		}
		nodes = append(nodes, node("file", "Placeholder"), constant("names", "v"), constant("whole", ""), node("restore", "RestoreV2", "file", "names", "whole"))
	}
}

// The slices that a saver restores are constants that fit their tensors. TensorFlow ends
// the process for some others as it imports the graph.
func TestSlicesOfSavers(t *testing.T) {
	for spec, sound := range map[string]bool{
		"": true, "4 3 0,2:-": true, "7 -": true, "7 6,1": true, "-4 0,1": false, "-": false, "4 0": false, "4 -:-": false, "4 -1,1": false, "4 0,-1": false,
		"4 2,3": false, "4 5,1": false, "4 0,0": false, "4 9223372036854775807,1": false, "99999999999999999999 -": false, "4294967296 4294967296 -:-": false, "x -": false,
		" 4 -": false, "4 0,1,": false, "v": false,
	} {
		for _, op := range []string{"RestoreV2", "SaveV2"} {
			m := graph([]*tfproto.NodeDef{node("y", "Identity", "x"), node("file", "Placeholder"), constant("slices", spec), node("op", op, "file", "slices", "slices")})
			m.MetaGraphs[0].SaverDef = &tfproto.SaverDef{FilenameTensorName: "file:0"}
			_, err := readGraph(t, m, nil)
			if sound && err != nil {
				t.Errorf("%s of %q: %v", op, spec, err)
			} else if !sound {
				wantError(t, err, millrace.ErrUnsafeModel, `operation "`+op+`" (node "op")`, "is not a slice of a tensor")
			}
		}
	}
	m := graph([]*tfproto.NodeDef{node("y", "Identity", "x"), node("file", "Placeholder"), constant("part", "4 -"), node("slices", "StringLower", "part"), node("op", "RestoreV2", "file", "slices", "slices")})
	m.MetaGraphs[0].SaverDef = &tfproto.SaverDef{FilenameTensorName: "file:0"}
	_, err := readGraph(t, m, nil)
	wantError(t, err, millrace.ErrUnsafeModel, "its slices are not a constant")
}

// E17: an operation that TensorFlow does not have.
func TestUnknownOperation(t *testing.T) {
	m := graph([]*tfproto.NodeDef{node("y", "FrobnicateV9", "x")})
	_, err := readGraph(t, m, nil)
	wantError(t, err, millrace.ErrModel, `operation "FrobnicateV9" (node "y")`, "TensorFlow 2.21.0", "custom operations")
	if _, err := readGraph(t, m, &Options{AllowOps: []string{"FrobnicateV9"}}); err != nil {
		t.Errorf("allowed by name: %v", err)
	}
}

// A node upstream of a signature's inputs does not run for the signature, but is still
// refused, because the graph contains it.
func TestFedOperations(t *testing.T) {
	m := graph([]*tfproto.NodeDef{node("y", "Identity", "z"), node("z", "Identity", "r"), node("r", "ReadFile", "x")})
	m.MetaGraphs[0].SignatureDef["serving_default"].Inputs["x"].Encoding = &tfproto.TensorInfo_Name{Name: "z:0"}
	_, err := readGraph(t, m, nil)
	wantError(t, err, millrace.ErrUnsafeModel, `"ReadFile"`)
}

// Operations that TensorFlow runs at load, wherever its loader looks for them.
func TestInitOperation(t *testing.T) {
	model := func() *tfproto.SavedModel {
		return graph([]*tfproto.NodeDef{node("y", "Identity", "x"), constant("c", "/x"), node("init", "WriteFile", "c", "c")})
	}
	group := func(names ...string) *tfproto.CollectionDef {
		return &tfproto.CollectionDef{Kind: &tfproto.CollectionDef_NodeList_{NodeList: &tfproto.CollectionDef_NodeList{Value: names}}}
	}
	for _, key := range []string{"saved_model_main_op", "legacy_init_op"} {
		m := model()
		m.MetaGraphs[0].CollectionDef = map[string]*tfproto.CollectionDef{key: group("init")}
		_, err := readGraph(t, m, nil)
		wantError(t, err, millrace.ErrUnsafeModel, "the init operation", `"WriteFile"`)
		m.MetaGraphs[0].CollectionDef[key] = group("init", "y")
		_, err = readGraph(t, m, nil)
		wantError(t, err, millrace.ErrModel, "has 2 operations")
		m.MetaGraphs[0].CollectionDef[key] = group("gone")
		_, err = readGraph(t, m, nil)
		wantError(t, err, millrace.ErrModel, `needs node "gone"`)
	}
	m := model()
	m.MetaGraphs[0].SignatureDef[metagraph.InitSignature] = &tfproto.SignatureDef{}
	_, err := readGraph(t, m, nil)
	wantError(t, err, millrace.ErrModel, metagraph.InitSignature) // this one ends TensorFlow's process

	named := func(key, node string) map[string]*tfproto.TensorInfo {
		return map[string]*tfproto.TensorInfo{key: {Encoding: &tfproto.TensorInfo_Name{Name: node}}}
	}
	for key, op := range map[string]string{"another": "init", metagraph.InitSignature: ""} {
		m.MetaGraphs[0].SignatureDef[metagraph.InitSignature] = &tfproto.SignatureDef{Outputs: named(key, op)}
		_, err = readGraph(t, m, nil)
		wantError(t, err, millrace.ErrModel, "does not name the operation to run at load")
	}
	m.MetaGraphs[0].SignatureDef[metagraph.InitSignature].Outputs = named(metagraph.InitSignature, "init")
	_, err = readGraph(t, m, nil)
	wantError(t, err, millrace.ErrUnsafeModel, "the init operation", `"WriteFile"`)
}

// The operation to run at load is looked up first in the signature, then in one
// collection, then in the other.
func TestWhichInitOperation(t *testing.T) {
	group := func(name string) *tfproto.CollectionDef {
		return &tfproto.CollectionDef{Kind: &tfproto.CollectionDef_NodeList_{NodeList: &tfproto.CollectionDef_NodeList{Value: []string{name}}}}
	}
	m := graph([]*tfproto.NodeDef{node("y", "Identity", "x"), node("a", "NoOp"), node("b", "NoOp"), node("c", "NoOp")})
	g := m.MetaGraphs[0]
	g.CollectionDef = map[string]*tfproto.CollectionDef{"saved_model_main_op": group("b"), "legacy_init_op": group("c")}
	g.SignatureDef[metagraph.InitSignature] = &tfproto.SignatureDef{Outputs: map[string]*tfproto.TensorInfo{metagraph.InitSignature: {Encoding: &tfproto.TensorInfo_Name{Name: "a:0"}}}}
	g.SignatureDef["__saved_model_train_op"] = g.SignatureDef[metagraph.InitSignature]
	check := func(want string) {
		t.Helper()
		read, err := readGraph(t, m, nil)
		if err != nil || read.Program().InitOp != want || len(read.Signatures) != 1 {
			t.Errorf("it runs %q, want %q, signatures %v, %v", read.Program().InitOp, want, read.Signatures, err)
		}
	}
	check("a")
	delete(g.SignatureDef, metagraph.InitSignature)
	check("b")
	delete(g.CollectionDef, "saved_model_main_op")
	check("c")
	delete(g.CollectionDef, "legacy_init_op")
	check("")
}

// E07: functions that TensorFlow would follow until its stack overflows.
func TestFunctionCalls(t *testing.T) {
	_, err := Read(filepath.Join(models, "recursive"), nil)
	wantError(t, err, millrace.ErrModel, `function "__inference_outer_`, "calls itself")

	m := graph([]*tfproto.NodeDef{node("y", "Identity", "x")},
		functionOf("a", nil, called("n", "b")), functionOf("b", nil, called("n", "c")), functionOf("c", nil, called("n", "a")))
	_, err = readGraph(t, m, nil)
	wantError(t, err, millrace.ErrModel, `function "a" calls itself through "b", "c"`)

	chain := func(n int) *tfproto.SavedModel {
		var functions []*tfproto.FunctionDef
		for i := range n - 1 {
			functions = append(functions, functionOf(fmt.Sprintf("f%d", i), nil, called("n", fmt.Sprintf("f%d", i+1))))
		}
		return graph([]*tfproto.NodeDef{node("y", "Identity", "x")}, append(functions, functionOf(fmt.Sprintf("f%d", n-1), nil))...)
	}
	if _, err := readGraph(t, chain(policy.MaxFunctionDepth), nil); err != nil {
		t.Errorf("%d functions deep: %v", policy.MaxFunctionDepth, err)
	}
	_, err = readGraph(t, chain(policy.MaxFunctionDepth+1), nil)
	wantError(t, err, millrace.ErrLimit, `functions call each other more than 256 deep, below "f0"`)
	_, err = readGraph(t, chain(10_000), nil)
	wantError(t, err, millrace.ErrModel, "more than 256 deep")
}

// A node counts once, however many paths lead to it.
func TestManyWaysToANode(t *testing.T) {
	nodes, from := []*tfproto.NodeDef(nil), "x"
	for i := range 40 { // makes 2 to the power of 40 paths
		nodes = append(nodes, node(fmt.Sprintf("n%d", i), "StringJoin", from, from))
		from = nodes[i].Name
	}
	if _, err := readGraph(t, graph(append(nodes, node("y", "Identity", from))), nil); err != nil {
		t.Error(err)
	}
}

// Duplicate names are ambiguous.
func TestAmbiguousGraphs(t *testing.T) {
	twice := graph([]*tfproto.NodeDef{node("y", "Identity", "x"), node("y", "ReadFile", "x")})
	_, err := readGraph(t, twice, nil)
	wantError(t, err, millrace.ErrModel, `node "y" is there twice`)
	functions := graph([]*tfproto.NodeDef{node("y", "Identity", "x")}, wrapper("f", "Identity"), wrapper("f", "ReadFile"))
	_, err = readGraph(t, functions, nil)
	wantError(t, err, millrace.ErrModel, `function "f" is there twice`)
	body := graph([]*tfproto.NodeDef{called("y", "f", "x")}, functionOf("f", []string{"a"}, node("n", "Identity", "a"), node("n", "Abs", "a")))
	_, err = readGraph(t, body, nil)
	wantError(t, err, millrace.ErrModel, `node "n" has no name or is there twice`)
	dangling := graph([]*tfproto.NodeDef{node("y", "Identity", "nowhere")})
	_, err = readGraph(t, dangling, nil)
	wantError(t, err, millrace.ErrModel, `needs node "nowhere"`)
}

// Nodes that end TensorFlow's process as it imports them.
func TestLethalNodes(t *testing.T) {
	count := func(n *tfproto.NodeDef, v int64) *tfproto.NodeDef {
		return with(n, "N", &tfproto.AttrValue{Value: &tfproto.AttrValue_I{I: v}})
	}
	for _, v := range []int64{-1, 1 << 40} {
		_, err := readGraph(t, graph([]*tfproto.NodeDef{count(node("y", "StringJoin", "x"), v)}), nil)
		wantError(t, err, millrace.ErrLimit, `node "y" ("StringJoin"): attribute "N" is `)
		_, err = readGraph(t, graph([]*tfproto.NodeDef{node("y", "Identity", "x")}, functionOf("f", nil, count(node("n", "Pack"), v))), nil)
		wantError(t, err, millrace.ErrLimit, `node "n" ("Pack")`)
		many := functionOf("f", nil)
		many.Signature.InputArg = []*tfproto.OpDef_ArgDef{{Name: "in", Type: tfproto.DataType_DT_STRING, NumberAttr: "N"}}
		_, err = readGraph(t, graph([]*tfproto.NodeDef{count(node("y", "f", "x"), v)}, many), nil)
		wantError(t, err, millrace.ErrLimit, `node "y" ("f")`)
	}
	for v, want := range map[int64]bool{0: true, metagraph.MaxOutputs: true, metagraph.MaxOutputs + 1: false} {
		_, err := readGraph(t, graph([]*tfproto.NodeDef{node("y", "Identity", "x"), count(node("j", "StringJoin", "x"), v)}), nil)
		if (err == nil) != want {
			t.Errorf("%d inputs: %v", v, err)
		}
	}
	loop := func(inputs ...string) *tfproto.SavedModel {
		return graph([]*tfproto.NodeDef{node("a", "Enter", "x"), node("b", "Enter", "x"), node("y", "Merge", inputs...), node("n", "NextIteration", "y")})
	}
	references := graph([]*tfproto.NodeDef{node("a", "RefEnter", "x"), node("b", "RefEnter", "x"), node("m", "RefMerge", "a", "n", "b"),
		node("n", "RefNextIteration", "m"), node("y", "Identity", "x")})
	_, err := readGraph(t, references, nil)
	wantError(t, err, millrace.ErrModel, `node "m" ("RefMerge") begins a loop that is entered in 2 places`)
	if _, err := readGraph(t, loop("a", "n"), nil); err != nil {
		t.Errorf("a loop: %v", err)
	}
	if _, err := readGraph(t, loop("a", "b"), nil); err != nil {
		t.Errorf("no loop: %v", err)
	}
	_, err = readGraph(t, loop("a", "n", "b"), nil)
	wantError(t, err, millrace.ErrModel, `node "y" ("Merge") begins a loop that is entered in 2 places`)
}

// Names from a model are escaped and shortened in messages.
func TestNamesAreQuoted(t *testing.T) {
	name := "\x1b[31m" + strings.Repeat("n", 500)
	_, err := readGraph(t, graph([]*tfproto.NodeDef{node("y", "Identity", name)}), nil)
	wantError(t, err, millrace.ErrModel, `\x1b[31mnnn`)
	if strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 400 {
		t.Errorf("error of %d bytes: %q", len(err.Error()), err)
	}
}
