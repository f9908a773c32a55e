package datapipeline_test

import (
	"context"
	"fmt"
	"log"

	"millrace/graph"
	"millrace/graph/tf1/datapipeline"
	"millrace/tfbridge"
)

// Two recordings, of 5 and 2 frames, are cut into chunks of 2 frames. A batch has 4
// frames.
func ExampleQueueDataProvider() {
	externData := &datapipeline.ExternData{Data: map[string]datapipeline.Data{
		"data": {DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1)},
	}}
	train := &datapipeline.StaticDataset{DatasetName: "train", Seqs: []*datapipeline.Sequence{
		{Tag: "hello", Data: map[string]any{"data": []float32{1, 2, 3, 4, 5}}},
		{Tag: "world", Data: map[string]any{"data": []float32{6, 7}}},
	}}
	s := graph.NewScope()
	defer s.Graph().Close()
	p, err := datapipeline.NewQueueDataProvider(s, externData, &datapipeline.Options{
		Chunking: datapipeline.Chunking{Size: 2}, Batching: datapipeline.Batching{BatchSize: 4},
	})
	if err != nil {
		log.Fatal(err)
	}
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if err := readEpoch(p, session, train); err != nil {
		log.Fatal(err)
	}
	// Output:
	// [hello hello] [[1 2] [3 4]]
	// [hello world] [[5 0] [6 7]]
	// frames: 7
}

// readEpoch prints the batches of an epoch.
func readEpoch(p datapipeline.DataProvider, session *tfbridge.Session, d datapipeline.Dataset) error {
	ctx := context.Background()
	if err := p.InitDataset(d, &datapipeline.Epoch{Train: true}); err != nil {
		return err
	}
	if err := p.StartThreads(ctx, session); err != nil {
		return err
	}
	defer p.StopThreads()
	batch := []tfbridge.Output{p.Data()["seq_tag"], p.Data()["data"]}
	for {
		more, err := p.HaveMoreData(ctx)
		if err != nil {
			return err
		}
		if !more {
			fmt.Println("frames:", p.NumFrames()["data"])
			return nil
		}
		feeds, err := p.FeedDict(ctx)
		if err != nil {
			return err
		}
		values, err := session.Run(feeds, batch, nil)
		if err != nil {
			return err
		}
		fmt.Println(values[0].Value(), values[1].Value())
		values[0].Close()
		values[1].Close()
	}
}
