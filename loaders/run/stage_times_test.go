package run

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/leak"
	"millrace/internal/test/testruntime"
	"millrace/loaders/build"
	"millrace/tfbridge"
)

// Datasets are listed in the order of the data. Datasets of one name that are read
// together are one stage, and a source with fewer stages comes first.
func TestStageTimesInOrder(t *testing.T) {
	node := func(name string, elements int64, inputs ...int64) *tfproto.ModelProto_Node {
		return &tfproto.ModelProto_Node{Name: name, NumElements: elements, ProcessingTime: 10 * elements, BufferedElements: 1, Inputs: inputs}
	}
	nodes := map[int64]*tfproto.ModelProto_Node{
		1: node("Root", 9, 2), 2: node("Batch", 1, 3), 3: node("Zip", 4, 4, 5),
		4: node("Map", 4, 6), 6: node("Interleave", 4, 7, 8), 7: node("Records", 2), 8: node("Records", 3),
		5: node("Range", 5),
	}
	var got []string
	for _, s := range stageTimes(nodes, 1) {
		got = append(got, fmt.Sprintf("%d %s %d %d %d", s.Datasets, s.Name, s.Elements, s.Time, s.Buffered))
	}
	want := []string{"1 Range 5 50 1", "2 Records 5 50 2", "1 Interleave 4 40 1", "1 Map 4 40 1", "1 Zip 4 40 1", "1 Batch 1 10 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := stageTimes(nodes, 77); got != nil {
		t.Errorf("of no output: %v", got)
	}
}

// Of datasets with the same depth the one that tf.data made first comes first. Datasets
// that tf.data puts around every pipeline are no stages.
func TestStagesOfOneDepth(t *testing.T) {
	nodes := map[int64]*tfproto.ModelProto_Node{
		1: {Name: "Root", Inputs: []int64{2}}, 2: {Name: "Model", Inputs: []int64{3}}, 3: {Name: "PrivateThreadPool", Inputs: []int64{4}},
		4: {Name: "MaxIntraOpParallelism", Inputs: []int64{5}}, 5: {Name: "Zip", Inputs: []int64{9, 8, 7, 6}},
		6: {Name: "A"}, 7: {Name: "B"}, 8: {Name: "C"}, 9: {Name: "D", Inputs: []int64{10}}, 10: {Name: "E"},
	}
	for range 8 { // because a map has no order
		got := ""
		for _, s := range stageTimes(nodes, 1) {
			got += s.Name
		}
		if want := "ABCEDZip"; got != want {
			t.Fatalf("stages %s, want %s", got, want)
		}
	}
}

// The times are those of a pipeline that measures them, or an error.
func TestStageTimesThatFail(t *testing.T) {
	testruntime.Need(t)
	noneLeft := leak.Objects(t, openTensors)
	var text, number tfbridge.Output
	_, sess := newGraph(t, func(s *graph.Scope) { text, number = s.Const("\xff"), s.Const(int64(1)) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		model tfbridge.Output
		want  error
	}{
		{"not measured", t.Context(), tfbridge.Output{}, millrace.ErrConfig},
		{"no model", t.Context(), text, millrace.ErrInternal},
		{"canceled", ctx, text, millrace.ErrCanceled},
	} {
		pl := &Pipeline{Parts: &build.Parts{Model: tt.model}}
		if times, err := pl.StageTimes(tt.ctx, sess); !errors.Is(err, tt.want) || times != nil {
			t.Errorf("%s: %v, %v, want %v", tt.name, times, err, tt.want)
		}
	}
	pl := &Pipeline{Parts: &build.Parts{Model: number}}
	if times, err := pl.StageTimes(t.Context(), sess); err == nil {
		t.Errorf("no text: %v", times)
	}
	noneLeft()
}
