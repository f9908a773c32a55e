package datapipeline_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph/tf1/datapipeline"
	"millrace/internal/test/graphtest"
)

// All providers make equal batches of equal data: chunks with context in training,
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
		"frames":  {Chunking: datapipeline.Chunking{Size: 8, Step: 1}, Batching: datapipeline.Batching{BatchSize: 40}},
		"gaps":    {Chunking: datapipeline.Chunking{Size: 2, Step: 5}, Batching: datapipeline.Batching{BatchSize: 1000, MaxSeqs: 3}, ChunkEval: true},
		"context": {Chunking: datapipeline.Chunking{Context: context}, Batching: datapipeline.Batching{BatchSize: 30}, Capacity: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			queues, err := datapipeline.NewQueueDataProvider(s, speech, &o)
			if err != nil {
				t.Fatal(err)
			}
			fed, err := datapipeline.NewFeedDictDataProvider(s, speech, &datapipeline.FeedDictOptions{Options: o})
			if err != nil {
				t.Fatal(err)
			}
			tfQueue := datapipeline.NewTFDataQueues(s, speech, &datapipeline.TFDataQueuesOptions{
				Capacity: 2, Ordered: true, WithBatch: true, Special: []string{datapipeline.SeqTag, datapipeline.SeqIdx},
			})
			queued, err := datapipeline.NewFeedDictDataProvider(s, speech, &datapipeline.FeedDictOptions{Options: o, TFQueue: tfQueue})
			if err != nil {
				t.Fatal(err)
			}
			readers := newReaders(t, s, fed, queues, queued)
			for i, train := range []bool{true, false, true} {
				d, epoch := recording("data", lengths[i:]...), datapipeline.Epoch{Train: train, Number: int64(i)}
				want := readers[0].all(t, d, epoch)
				for _, r := range readers[1:] {
					if diff := cmp.Diff(want, r.all(t, d, epoch)); diff != "" || len(want) < 2 {
						t.Errorf("%+v: %d batches, (-fed +%T)\n%s", epoch, len(want), r.DataProvider, diff)
					}
					if diff := cmp.Diff(fed.NumFrames(), r.NumFrames()); diff != "" {
						t.Errorf("NumFrames: (-fed +%T)\n%s", r.DataProvider, diff)
					}
				}
				for _, r := range readers {
					if !r.HaveReachedEnd() || r.CompleteFrac() != 1 {
						t.Errorf("at the end %T has %v and %v", r.DataProvider, r.HaveReachedEnd(), r.CompleteFrac())
					}
				}
			}
		})
	}
}
