package fuse

import (
	"testing"

	"millrace/graph"
	"millrace/internal/base/tfproto"
)

// Steps that draw random numbers, read variables or look up tables may run beside
// others; steps that assign, count or write may not.
func TestOperationsThatChangeState(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	w := &stateWalk{graph: s.Graph(), types: map[string]bool{}, functions: map[string]*tfproto.FunctionDef{}, effects: map[string]bool{}}
	for _, op := range []string{
		"Add", "MatMul", "Const", "Placeholder", "Identity", "RefIdentity", "RefSwitch", "RefMerge", "StatelessRandomUniform",
		"VarHandleOp", "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp",
		"Variable", "VariableV2", "IsVariableInitialized", "HashTable", "HashTableV2", "MutableHashTableV2", "MutableDenseHashTableV2",
		"LookupTableFind", "LookupTableFindV2", "LookupTableSize", "LookupTableSizeV2",
		"PartitionedCall", "StatefulPartitionedCall", "If", "Case", "While", "StatelessIf", "StatelessWhile", "Assert", "Print", "PrintV2",
		"RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal",
		"RandomShuffle", "Multinomial", "RandomGammaGrad", "RandomGamma", "RandomPoissonV2",
	} {
		for range 2 { // the second answer is remembered
			if w.typeChanges(op) {
				t.Errorf("%s changes state", op)
			}
		}
	}
	for op := range readers {
		if !hasEffect(s.Graph(), op) {
			t.Errorf("%s is listed although TensorFlow says that it has no state", op)
		}
	}
	for _, op := range []string{
		"Assign", "AssignAdd", "AssignVariableOp", "AssignAddVariableOp", "ResourceApplyAdam", "ApplyMomentum", "ScatterUpdate", "CountUpTo",
		"ResourceScatterAdd", "LookupTableInsertV2", "LookupTableImportV2", "QueueEnqueueV2", "QueueDequeueV2", "WriteFile", "NoSuchOperation",
	} {
		for range 2 {
			if !w.typeChanges(op) {
				t.Errorf("%s changes no state", op)
			}
		}
	}
}

// A function changes state if an operation of it does, or a function that it
// calls, by its name or by an attribute. Functions that call each other end.
func TestFunctionsThatChangeState(t *testing.T) {
	s := graph.NewScope()
	defer s.Graph().Close()
	call := func(op string, attrs map[string]*tfproto.AttrValue) *tfproto.NodeDef {
		return &tfproto.NodeDef{Op: op, Attr: attrs}
	}
	attr := func(names ...string) map[string]*tfproto.AttrValue {
		var list []*tfproto.NameAttrList
		for _, name := range names {
			list = append(list, &tfproto.NameAttrList{Name: name})
		}
		if len(list) == 1 {
			return map[string]*tfproto.AttrValue{"f": {Value: &tfproto.AttrValue_Func{Func: list[0]}}}
		}
		return map[string]*tfproto.AttrValue{"branches": {Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Func: list}}}}
	}
	w := &stateWalk{graph: s.Graph(), types: map[string]bool{}, effects: map[string]bool{}, functions: map[string]*tfproto.FunctionDef{
		"reads":  {NodeDef: []*tfproto.NodeDef{call("ReadVariableOp", nil), call("MatMul", nil)}},
		"writes": {NodeDef: []*tfproto.NodeDef{call("ReadVariableOp", nil), call("AssignVariableOp", nil)}},
		"calls":  {NodeDef: []*tfproto.NodeDef{call("PartitionedCall", attr("writes"))}},
		"itself": {NodeDef: []*tfproto.NodeDef{call("itself", nil), call("MatMul", nil)}},
		"empty":  {},
	}}
	for _, tt := range []struct {
		name string
		n    *tfproto.NodeDef
		want bool
	}{
		{"of no function", call("MatMul", nil), false},
		{"that reads", call("reads", nil), false},
		{"that writes", call("writes", nil), true},
		{"again", call("writes", nil), true},
		{"that calls one that writes", call("calls", nil), true},
		{"that calls itself", call("itself", nil), false},
		{"of an empty one", call("empty", nil), false},
		{"by attribute", call("StatefulPartitionedCall", attr("writes")), true},
		{"by attribute, that reads", call("StatefulPartitionedCall", attr("reads")), false},
		{"one of several", call("Case", attr("reads", "empty", "calls")), true},
		{"none of several", call("Case", attr("reads", "empty", "itself")), false},
		{"of an unknown one", call("PartitionedCall", attr("gone")), false},
	} {
		if got := w.changes(tt.n); got != tt.want {
			t.Errorf("a call %s: changes %v, want %v", tt.name, got, tt.want)
		}
	}
}
