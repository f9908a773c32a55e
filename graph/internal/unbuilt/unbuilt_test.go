package unbuilt_test

import (
	"os"
	"testing"

	"millrace/graph/internal/unbuilt"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) { os.Exit(tfmain.Run(m)) }

func TestOutputsOf(t *testing.T) {
	g := tfbridge.NewGraph()
	defer g.Close()
	three := tfbridge.OutputList(make([]tfbridge.Output, 3))
	types := []tfbridge.DataType{tfbridge.Float, tfbridge.String}
	tests := []struct {
		name string
		spec tfbridge.OpSpec
		want int
	}{
		{"one", tfbridge.OpSpec{Type: "Abs"}, 1},
		{"none", tfbridge.OpSpec{Type: "NoOp"}, 0},
		{"three parts", tfbridge.OpSpec{Type: "DeserializeSparse"}, 3},
		{"a number", tfbridge.OpSpec{Type: "Split", Attrs: map[string]any{"num_split": 5}}, 5},
		{"another type of number", tfbridge.OpSpec{Type: "Split", Attrs: map[string]any{"num_split": int64(5)}}, 5},
		{"the number of inputs", tfbridge.OpSpec{Type: "ShapeN", Input: []tfbridge.Input{three}}, 3},
		{"the types of inputs", tfbridge.OpSpec{Type: "IdentityN", Input: []tfbridge.Input{three}}, 3},
		{"types", tfbridge.OpSpec{Type: "QueueDequeueV2", Attrs: map[string]any{"component_types": types}}, 2},
		{"types and more", tfbridge.OpSpec{Type: "BarrierTakeMany", Attrs: map[string]any{"component_types": types}}, 4},
		{"no number", tfbridge.OpSpec{Type: "Split"}, unbuilt.Many},
		{"no types", tfbridge.OpSpec{Type: "QueueDequeueV2"}, unbuilt.Many},
		{"a negative number", tfbridge.OpSpec{Type: "Split", Attrs: map[string]any{"num_split": -1}}, unbuilt.Many},
		{"a number beyond all", tfbridge.OpSpec{Type: "Split", Attrs: map[string]any{"num_split": 1 << 40}}, unbuilt.Many},
		{"one input where a list belongs", tfbridge.OpSpec{Type: "IdentityN", Input: []tfbridge.Input{tfbridge.Output{}}}, unbuilt.Many},
		{"no such type", tfbridge.OpSpec{Type: "NoSuchOperation"}, unbuilt.Many},
	}
	for _, tt := range tests {
		if got := len(unbuilt.OutputsOf(g, tt.spec)); got != tt.want {
			t.Errorf("%s: got %d outputs, want %d", tt.name, got, tt.want)
		}
	}
	if got := len(unbuilt.OutputsOf(nil, tfbridge.OpSpec{Type: "Abs"})); got != unbuilt.Many {
		t.Errorf("without a graph: got %d outputs, want %d", got, unbuilt.Many)
	}
}

func TestList(t *testing.T) {
	g := tfbridge.NewGraph()
	defer g.Close()
	spec := tfbridge.OpSpec{Type: "BarrierTakeMany", Attrs: map[string]any{"component_types": []tfbridge.DataType{tfbridge.Float, tfbridge.String}}}
	for name, want := range map[string]int{"values": 2, "keys": 1, "nothing": unbuilt.Many} {
		if got := len(unbuilt.List(g, spec, name)); got != want {
			t.Errorf("%s: got %d outputs, want %d", name, got, want)
		}
	}
}
