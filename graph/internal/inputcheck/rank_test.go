package inputcheck

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
)

// convolutions is a graph with a function that convolves its argument x by its
// arguments f and g, with other operations between.
func convolutions(between ...*tfproto.NodeDef) *tfproto.GraphDef {
	arg := func(name string) *tfproto.OpDef_ArgDef {
		return &tfproto.OpDef_ArgDef{Name: name, Type: tfproto.DataType_DT_FLOAT}
	}
	t := map[string]*tfproto.AttrValue{"T": typed(tfproto.DataType_DT_FLOAT)}
	nodes := append([]*tfproto.NodeDef{{Name: "first", Op: "Conv2D", Input: []string{"x", "f"}, Attr: t}}, between...)
	last := between[len(between)-1].Name
	out := map[string]string{"Relu": "activations", "FusedBatchNormV3": "y", "AddV2": "z"}[between[len(between)-1].Op]
	if out == "" {
		out = "output"
	}
	nodes = append(nodes, &tfproto.NodeDef{Name: "second", Op: "Conv2D", Input: []string{last + ":" + out + ":0", "g"}, Attr: t})
	return &tfproto.GraphDef{Library: &tfproto.FunctionDefLibrary{Function: []*tfproto.FunctionDef{{
		Signature: &tfproto.OpDef{Name: "c", InputArg: []*tfproto.OpDef_ArgDef{arg("x"), arg("f"), arg("g")}}, NodeDef: nodes,
	}}}}
}

// The rank of a convolution's inputs is ensured, unless the operations before it
// determine it.
func TestRanks(t *testing.T) {
	node := func(name, op string, inputs ...string) *tfproto.NodeDef {
		return &tfproto.NodeDef{Name: name, Op: op, Input: inputs}
	}
	norm := func(x string) *tfproto.NodeDef {
		n := node("norm", "FusedBatchNormV3", x, "x", "x", "x", "x")
		n.Attr = map[string]*tfproto.AttrValue{"T": typed(tfproto.DataType_DT_FLOAT), "U": typed(tfproto.DataType_DT_FLOAT)}
		return n
	}
	relu := node("relu", "Relu", "first:output:0")
	for name, tt := range map[string]struct {
		between []*tfproto.NodeDef
		ensured []string // inputs of convolutions
	}{
		"an activation":         {[]*tfproto.NodeDef{relu}, []string{"x", "f", "g"}},
		"a normalization":       {[]*tfproto.NodeDef{norm("first:output:0")}, []string{"x", "f", "g"}},
		"a sum":                 {[]*tfproto.NodeDef{relu, node("sum", "AddV2", "first:output:0", "relu:activations:0")}, []string{"x", "f", "g"}},
		"a sum with anything":   {[]*tfproto.NodeDef{node("sum", "AddV2", "first:output:0", "x")}, []string{"x", "f", "g", "sum:z:0"}},
		"another shape":         {[]*tfproto.NodeDef{node("shaped", "Reshape", "first:output:0", "x")}, []string{"x", "f", "g", "shaped:output:0"}},
		"the mean that it used": {[]*tfproto.NodeDef{norm("x"), node("relu", "Relu", "norm:batch_mean:0")}, []string{"x", "f", "g", "norm/millrace_check_rank:same:0", "relu:activations:0"}},
	} {
		before := convolutions(tt.between...)
		def, err := proto.Marshal(before)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Insert(def, Options{})
		g := &tfproto.GraphDef{}
		if err != nil || proto.Unmarshal(got, g) != nil {
			t.Fatal(err)
		}
		var ensured []string
		for _, n := range g.Library.Function[0].NodeDef {
			if n.Op == "EnsureShape" {
				ensured = append(ensured, n.Input[0])
			} else if n.Op == "Conv2D" && !strings.HasSuffix(n.Input[1], ":output:0") {
				t.Errorf("%s: a convolution takes its filter from %s", name, n.Input[1])
			}
		}
		slices.Sort(ensured)
		slices.Sort(tt.ensured)
		if !slices.Equal(ensured, tt.ensured) {
			t.Errorf("%s: ranks of %q are ensured, want %q", name, ensured, tt.ensured)
		}
		if Remove(g); !proto.Equal(g, before) {
			t.Errorf("%s: Remove leaves %v", name, g)
		}
	}
}

// Nested sums are analyzed in short time.
func TestRankOfManySums(t *testing.T) {
	nodes := []*tfproto.NodeDef{{Name: "first", Op: "MaxPool", Input: []string{"x"}}}
	last := "first:output:0"
	for i := range 60 {
		name := "sum" + strings.Repeat("s", i)
		nodes = append(nodes, &tfproto.NodeDef{Name: name, Op: "AddV2", Input: []string{last, last}})
		last = name + ":z:0"
	}
	if rank := newFlow(convolutions(nodes...)).rank("c", last, 0); rank != 4 {
		t.Errorf("rank %d", rank)
	}
}
