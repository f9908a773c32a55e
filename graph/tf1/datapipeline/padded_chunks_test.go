package datapipeline_test

import (
	"errors"
	"slices"
	"testing"

	"millrace"
	"millrace/graph/tf1/datapipeline"
	"millrace/internal/test/graphtest"
)

// Chunks that are padded to one length give batches without that padding, epoch after
// epoch. The queues are not emptied between epochs: the end of an epoch leaves them empty.
func TestPaddedChunks(t *testing.T) {
	s := graphtest.NewScope(t)
	l := &levels{sequences: datapipeline.NewTFDataQueues(s, speech, &datapipeline.TFDataQueuesOptions{Special: []string{datapipeline.SeqIdx}})}
	cut := datapipeline.Chunking{Size: 3, Step: 2}
	l.chunks = datapipeline.NewTFDataQueues(s, speech, &datapipeline.TFDataQueuesOptions{Special: []string{datapipeline.SeqIdx}, EvalChunks: cut, Capacity: 6})
	l.chunker = datapipeline.NewTFChunkingQueueRunner(s, speech, l.sequences.EvalQueue.Dequeue,
		&datapipeline.TFChunkingQueueRunnerOptions{Chunking: cut, TargetQueue: l.chunks.EvalQueue})
	l.batches = datapipeline.NewTFBatchingQueue(s, speech, l.chunks, &datapipeline.TFBatchingQueueOptions{Batching: datapipeline.Batching{BatchSize: 12}})
	l.session = graphtest.NewSession(t, s, nil)
	for epoch := range 2 {
		l.read(t, recording("dev", 1, 9, 1, 2, 2, 1))
		go l.chunker.Loop(t.Context(), l.session)
		if err := l.batches.Loop(t.Context(), l.session, false); err != nil {
			t.Fatal(err)
		}
		var got [][]int32
		for range 3 {
			b := fetchBatch(t, l.session, l.batches.Output)
			got = append(got, b["data/size0"].([]int32))
			if longest := len(b["data"].([][][]float32)[0]); longest != int(slices.Max(got[len(got)-1])) {
				t.Errorf("epoch %d: rows of %d frames, sizes %v", epoch, longest, got)
			}
		}
		// Rows of 1, then 3, 3, 3, 3, 1, then 1, 2, 2, 1 frames; four of 3 fit.
		if want := [][]int32{{1, 3, 3, 3}, {3, 1, 1, 2}, {2, 1}}; !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("epoch %d: sizes %v, want %v", epoch, got, want)
		}
		if n, err := l.batches.BatchQueueSize(t.Context(), l.session); err != nil || n != 0 {
			t.Errorf("epoch %d: %d batches are left, %v", epoch, n, err)
		}
		if more, err := l.chunks.HaveMore(t.Context(), l.session, false); err != nil || more {
			t.Errorf("epoch %d: chunks are left, %v", epoch, err)
		}
	}
	// The queue defines how its chunks are cut, and rejects other chunks.
	datapipeline.NewTFChunkingQueueRunner(s, speech, l.sequences.EvalQueue.Dequeue, &datapipeline.TFChunkingQueueRunnerOptions{Chunking: datapipeline.Chunking{Size: 4}, TargetQueue: l.chunks.EvalQueue})
	if !errors.Is(s.Err(), millrace.ErrModel) {
		t.Errorf("chunks of 4 frames into a queue of chunks of 3: %v", s.Err())
	}
}
