package datapipeline_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph/tf1/datapipeline"
	"millrace/internal/test/graphtest"
)

// Chunks with context, batched by a budget of frames, as placeholders get them.
func TestFeedDictDataProvider(t *testing.T) {
	s := graphtest.NewScope(t)
	p, err := datapipeline.NewFeedDictDataProvider(s, speech, &datapipeline.FeedDictOptions{Options: datapipeline.Options{
		Chunking: datapipeline.Chunking{Size: 4, Step: 3, Context: map[string]datapipeline.Context{"data": {Left: 1, Right: 2}}},
		Batching: datapipeline.Batching{BatchSize: 14},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t, s, p)
	got := r.all(t, recording("train", 5, 0, 2), datapipeline.Epoch{Train: true})
	frame := func(v float32) []float32 { return []float32{v, -v} }
	none := []float32{0, 0}
	want := []batch{
		{
			"data": [][][]float32{
				{none, frame(1), frame(2), frame(3), frame(4), frame(5), none},
				{frame(3), frame(4), frame(5), none, none, none, none},
			},
			"data/size0":    []int32{7, 5},
			"classes":       [][]int32{{1, 2, 3, 4}, {4, 5, 0, 0}},
			"classes/size0": []int32{4, 2},
			"speaker":       []string{"speaker-0", "speaker-0"},
			"seq_tag":       []string{"seq-0", "seq-0"},
			"seq_idx":       []int32{0, 0},
		},
		{
			"data":          [][][]float32{{none, frame(201), frame(202), none, none}},
			"data/size0":    []int32{5},
			"classes":       [][]int32{{201, 202}},
			"classes/size0": []int32{2},
			"speaker":       []string{"speaker-0"},
			"seq_tag":       []string{"seq-2"},
			"seq_idx":       []int32{2},
		},
	}
	clean := func(v float32) float32 { return v + 0 } // -0 is 0
	if diff := cmp.Diff(want, got, cmp.Transformer("zero", clean)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, want := p.NumFrames(), map[string]int64{"data": 17, "classes": 8}; !cmp.Equal(got, want) {
		t.Errorf("NumFrames is %v, want %v", got, want)
	}
	if !p.HaveReachedEnd() || p.CompleteFrac() != 1 || p.LastSeqIdx() != 2 || p.SeqCounter() != 3 || p.BatchCounter() != 2 {
		t.Errorf("at the end: %v, %v, %d, %d, %d", p.HaveReachedEnd(), p.CompleteFrac(), p.LastSeqIdx(), p.SeqCounter(), p.BatchCounter())
	}
}
