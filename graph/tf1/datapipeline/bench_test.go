package datapipeline_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"millrace/graph"
	"millrace/graph/tf1/datapipeline"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// BenchmarkProviders reads epochs of 200 sequences of 100 to 1,500 frames of 40 numbers,
// in chunks of 50 with step 25, 5,000 frames a batch.
func BenchmarkProviders(b *testing.B) {
	externData := &datapipeline.ExternData{Data: map[string]datapipeline.Data{
		"data":    {DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, 40)},
		"classes": {DType: tfbridge.Int32, Shape: tfbridge.MakeShape(-1)},
	}}
	d := &datapipeline.StaticDataset{DatasetName: "train"}
	random := rand.New(rand.NewPCG(14, 5))
	frames := 0
	for range 200 {
		n := 100 + random.IntN(1401)
		data, err := tfbridge.NewTensorFromSlice([]int64{int64(n), 40}, make([]float32, n*40))
		if err != nil {
			b.Fatal(err)
		}
		defer data.Close()
		d.Seqs = append(d.Seqs, &datapipeline.Sequence{Data: map[string]any{"data": data, "classes": make([]int32, n)}})
		frames += n
	}
	o := datapipeline.Options{Chunking: datapipeline.Chunking{Size: 50, Step: 25}, Batching: datapipeline.Batching{BatchSize: 5000}}
	providers := map[string]func(s *graph.Scope) (datapipeline.DataProvider, error){
		"fed": func(s *graph.Scope) (datapipeline.DataProvider, error) {
			return datapipeline.NewFeedDictDataProvider(s, externData, &datapipeline.FeedDictOptions{Options: o})
		},
		"queues": func(s *graph.Scope) (datapipeline.DataProvider, error) {
			return datapipeline.NewQueueDataProvider(s, externData, &o)
		},
	}
	for name, make := range providers {
		b.Run(name, func(b *testing.B) {
			s := graph.NewScope()
			defer s.Graph().Close()
			p, err := make(s)
			if err != nil {
				b.Fatal(err)
			}
			fetch := graph.Size(s, p.Data()["data"])
			session := graphtest.NewSession(b, s, graphtest.Unoptimized(b))
			for b.Loop() {
				readAll(b, p, session, d, fetch)
			}
			b.ReportMetric(float64(frames)*float64(b.N)/b.Elapsed().Seconds(), "frames/s")
		})
	}
}

// readAll reads an epoch and fetches one number a batch.
func readAll(b *testing.B, p datapipeline.DataProvider, session *tfbridge.Session, d datapipeline.Dataset, fetch tfbridge.Output) {
	ctx := context.Background()
	if err := p.InitDataset(d, &datapipeline.Epoch{Train: true}); err != nil {
		b.Fatal(err)
	}
	if err := p.StartThreads(ctx, session); err != nil {
		b.Fatal(err)
	}
	defer p.StopThreads()
	for {
		more, err := p.HaveMoreData(ctx)
		if err != nil {
			b.Fatal(err)
		}
		if !more {
			return
		}
		feeds, err := p.FeedDict(ctx)
		if err != nil {
			b.Fatal(err)
		}
		out, err := session.Run(feeds, []tfbridge.Output{fetch}, nil)
		if err != nil {
			b.Fatal(err)
		}
		out[0].Close()
	}
}
