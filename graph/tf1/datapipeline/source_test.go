package datapipeline_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/steps"
	"millrace/graph/tf1/datapipeline"
	"millrace/internal/test/graphtest"
)

// A source yields the given number of epochs, each in its order. Its position cannot be
// saved, and data without frames is an error.
func TestSource(t *testing.T) {
	d := recording("train", 2, 1, 3)
	d.SeqOrdering, d.Seed = datapipeline.Random, 3
	s := graphtest.NewScope(t)
	queue := datapipeline.NewTFDataQueues(s, speech, &datapipeline.TFDataQueuesOptions{
		Ordered: true, WithBatch: true, Special: []string{datapipeline.SeqTag, datapipeline.SeqIdx},
	})
	sources := []*datapipeline.Source{
		datapipeline.QueueSource(d, speech, &frameByFrame),
		datapipeline.FeedSource(d, speech, &datapipeline.FeedDictOptions{Options: frameByFrame}),
		datapipeline.FeedSource(d, speech, &datapipeline.FeedDictOptions{Options: frameByFrame, TFQueue: queue}),
	}
	var pipelines []*steps.Pipeline
	for _, source := range sources {
		source.Epochs = 2
		p, err := source.Pipeline(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		pipelines = append(pipelines, p)
	}
	session := graphtest.NewSession(t, s, graphtest.Unoptimized(t))
	read := func(p *steps.Pipeline, o *steps.Options) (tags []string, err error) {
		for b, err := range p.Run(t.Context(), session, o) {
			if err != nil {
				return tags, err
			}
			of, err := b.Tensor(datapipeline.SeqTag).Strings()
			if err != nil {
				t.Fatal(err)
			}
			tags = append(tags, of...)
		}
		return tags, nil
	}
	var want []string
	for epoch := range int64(2) {
		for seq := range d.Sequences(t.Context(), epoch) {
			for range seq.Data["classes"].([]int32) {
				want = append(want, seq.Tag)
			}
		}
	}
	for i, p := range pipelines {
		for range 2 { // a second run starts from the beginning
			if got, err := read(p, nil); err != nil || !cmp.Equal(got, want) {
				t.Errorf("source %d: %q, %v; want %q", i, got, err, want)
			}
		}
		if got, err := read(p, &steps.Options{Steps: 2}); err != nil || len(got) != 4 {
			t.Errorf("source %d: two steps give %q, %v", i, got, err)
		}
		if _, err := read(p, &steps.Options{SaveEvery: 1}); !errors.Is(err, millrace.ErrCheckpoint) {
			t.Errorf("source %d: a position is saved: %v", i, err)
		}
		d.Seqs = nil
		if got, err := read(p, nil); len(got) > 0 || !errors.Is(err, millrace.ErrSchema) {
			t.Errorf("source %d without data: %q, %v", i, got, err)
		}
		d.Seqs = recording("train", 2, 1, 3).Seqs
	}
	none := datapipeline.QueueSource(d, speech, nil)
	if _, err := none.Pipeline(t.Context(), graph.NewScopeWithGraph(s.Graph())); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("without options: %v", err)
	}
}
