package datapipeline_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph/datapipeline"
)

// Both providers make equal batches of equal data: chunks with context in training,
// whole sequences in evaluation, in one graph and one session.
func TestProvidersAgree(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 2))
	var lengths []int
	for range 9 {
		lengths = append(lengths, random.IntN(12))
	}
	context := map[string]datapipeline.Context{"data": {Left: 2, Right: 1}, "classes": {Right: 1}}
	for name, o := range map[string]datapipeline.Options{
		"chunks":  {Chunking: datapipeline.Chunking{Size: 4, Step: 3, Context: context}, Batching: datapipeline.Batching{BatchSize: 40}},
		"gaps":    {Chunking: datapipeline.Chunking{Size: 2, Step: 5}, Batching: datapipeline.Batching{BatchSize: 1000, MaxSeqs: 3}, ChunkEval: true},
		"context": {Chunking: datapipeline.Chunking{Context: context}, Batching: datapipeline.Batching{BatchSize: 30}, Capacity: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(t)
			queues, err := datapipeline.NewQueueDataProvider(s, speech, &o)
			if err != nil {
				t.Fatal(err)
			}
			fed, err := datapipeline.NewFeedDictDataProvider(s, speech, &datapipeline.FeedDictOptions{Options: o})
			if err != nil {
				t.Fatal(err)
			}
			q, f := newReader(t, s, queues), newReader(t, s, fed)
			for i, train := range []bool{true, false, true} {
				d, epoch := recording("data", lengths[i:]...), datapipeline.Epoch{Train: train, Number: int64(i)}
				want := f.all(t, d, epoch)
				if diff := cmp.Diff(want, q.all(t, d, epoch)); diff != "" || len(want) < 2 {
					t.Errorf("%+v: %d batches, (-fed +queues)\n%s", epoch, len(want), diff)
				}
				if diff := cmp.Diff(fed.NumFrames(), queues.NumFrames()); diff != "" {
					t.Errorf("NumFrames: (-fed +queues)\n%s", diff)
				}
				for _, p := range []datapipeline.DataProvider{fed, queues} {
					if !p.HaveReachedEnd() || p.CompleteFrac() != 1 {
						t.Errorf("at the end %T has %v and %v", p, p.HaveReachedEnd(), p.CompleteFrac())
					}
				}
			}
		})
	}
}
