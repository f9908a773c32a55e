package loaders_test

import (
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/tf1/datapipeline"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"
)

// TestProvidersGiveTheSameBatches compares chunked_sequence with the two data
// providers over the same sequences: in training, two epochs of chunks with
// context, and in evaluation, whole sequences.
func TestProvidersGiveTheSameBatches(t *testing.T) {
	testruntime.Need(t)
	lengths := [][]int{{4, 1, 13}, {0, 3, 7, 2}}
	data := &datapipeline.StaticDataset{DatasetName: "data"}
	n := 0
	for _, file := range lengths {
		for _, length := range file {
			pos, pair := make([]int64, length), make([][]float32, length)
			for i := range length {
				pos[i], pair[i] = int64(n), []float32{float32(n), -float32(n)}
				n++
			}
			data.Seqs = append(data.Seqs, &datapipeline.Sequence{Data: map[string]any{"pos": pos, "pair": pair}})
		}
	}
	externData := &datapipeline.ExternData{DefaultInput: "pair", Data: map[string]datapipeline.Data{
		"pos":  {DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)},
		"pair": {DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 2)},
	}}
	o := datapipeline.Options{
		Chunking: datapipeline.Chunking{Size: 4, Step: 3, Context: map[string]datapipeline.Context{"pair": {Left: 1, Right: 2}}},
		Batching: datapipeline.Batching{BatchSize: 28, MaxSeqs: 3},
	}
	for _, mode := range []string{"train", "eval"} {
		f := newSequence(t, "chunked_sequence", newSequenceData(lengths))
		delete(f.Args, "target_batch_size")
		delete(f.Args, "drop_remainder")
		for key, value := range (fixture.Object{
			"mode": mode, "epochs": 2, "chunk_size": 4, "chunk_step": 3, "context_window": fixture.Object{"pair": []int{1, 2}},
			"batch_size": 28, "max_seqs": 3, "with_seq_idx": true, "with_sizes": true,
		}) {
			f.Args[key] = value
		}
		want := valuesOf(t, openSequence(t, f).Batches(t.Context()))
		sources := map[string]*datapipeline.Source{
			"fed":    datapipeline.FeedSource(data, externData, &datapipeline.FeedDictOptions{Options: o}),
			"queues": datapipeline.QueueSource(data, externData, &o),
		}
		for name, source := range sources {
			source.Epochs, source.Train = 2, mode == "train"
			got := providedBatches(t, source)
			if diff := cmp.Diff(want, got); diff != "" || len(want) < 6 {
				t.Errorf("%s, %s: %d batches (-loader +provider)\n%s", mode, name, len(want), diff)
			}
		}
	}
}

// providedBatches reads a source to its end.
func providedBatches(t *testing.T, source *datapipeline.Source) []map[string]any {
	t.Helper()
	s := graph.NewScope()
	defer s.Graph().Close()
	p, err := source.Pipeline(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	session, err := tfbridge.NewSession(s.Graph(), &tfbridge.SessionOptions{QuickStart: true})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	batches := valuesOf(t, p.Run(t.Context(), session, nil))
	for _, b := range batches {
		delete(b, datapipeline.SeqTag) // which is empty here
	}
	return batches
}

// valuesOf returns the tensors of batches as Go values.
func valuesOf(t *testing.T, batches iter.Seq2[*loaders.Batch, error]) []map[string]any {
	t.Helper()
	var all []map[string]any
	for b, err := range batches {
		if err != nil {
			t.Fatal(err)
		}
		values := map[string]any{}
		for _, name := range b.Names() {
			values[name] = b.Tensor(name).Value()
		}
		all = append(all, values)
	}
	return all
}
