package metagraph

import (
	"slices"
	"testing"

	"millrace/internal/test/modeltest"
)

func TestOutputTypes(t *testing.T) {
	list := modeltest.With(modeltest.Node("n", "StatefulPartitionedCall"), "Tout", nil)
	tests := []struct {
		name string
		node Node
		want []int32
		ok   bool
	}{
		{"attribute", parse(t, modeltest.Node("n", "Identity")), []int32{7}, true},
		{"default", parse(t, modeltest.Node("n", "Shape")), []int32{3}, true},
		{"fixed", parse(t, modeltest.Node("n", "VarHandleOp")), []int32{20}, true},
		{"none", parse(t, modeltest.Node("n", "NoOp")), nil, true},
		{"several", parse(t, modeltest.Node("n", "Unique")), []int32{7, 3}, true},
		{"count missing", parse(t, modeltest.Node("n", "Split")), nil, false},
		{"list missing", parse(t, list), nil, false},
		{"list", parse(t, modeltest.Call("n", "f")), []int32{7}, true},
		{"unknown", parse(t, modeltest.Node("n", "NoSuchOp")), nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := outputTypes(tt.node)
			if ok != tt.ok || !slices.Equal(got, tt.want) {
				t.Errorf("outputTypes\n got %v, %v\nwant %v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}
