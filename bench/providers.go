package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"millrace/graph"
	"millrace/graph/tf1/datapipeline"
	"millrace/tfbridge"
)

// The two ways of package datapipeline to bring batches to a model: feeding them one by
// one, and staging them by queues ahead of the model. RETURNN wrote the second one
// because feeding cuts and copies while the model waits. So staging must not be slower
// than feeding with a model that computes, here a small classifier of frames. Without a
// model nothing waits, and the rates show the whole cost of each way.
const (
	providerSequences = 400
	providerEpochs    = 5 // measured, after one that is not
	providerHidden    = 128
)

// providerTarget is the target as a ratio of frames/s, with the model.
const providerTarget = 1

// providers are the ways by name.
var providers = map[string]func(s *graph.Scope, e *datapipeline.ExternData, o *datapipeline.Options) (datapipeline.DataProvider, error){
	"fed": func(s *graph.Scope, e *datapipeline.ExternData, o *datapipeline.Options) (datapipeline.DataProvider, error) {
		return datapipeline.NewFeedDictDataProvider(s, e, &datapipeline.FeedDictOptions{Options: *o})
	},
	"staged": func(s *graph.Scope, e *datapipeline.ExternData, o *datapipeline.Options) (datapipeline.DataProvider, error) {
		return datapipeline.NewQueueDataProvider(s, e, o)
	},
}

// measureProviders returns frames of sequences a second by the name of the way.
func measureProviders(ctx context.Context, sequences, epochs int) (map[string]float64, error) {
	d, frames, err := speechDataset(sequences)
	defer func() {
		for _, seq := range d.Seqs {
			seq.Data["data"].(*tfbridge.Tensor).Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	rates := map[string]float64{}
	for name := range providers {
		for model, suffix := range map[bool]string{false: "", true: besideModel} {
			took, err := providerTime(ctx, name, d, &providerRun{epochs: epochs, model: model})
			if err != nil {
				return nil, fmt.Errorf("provider %s: %w", name, err)
			}
			rates[name+suffix] = float64(frames*epochs) / took.Seconds()
		}
	}
	return rates, nil
}

// speechDataset returns sequences as speechFeatures and the other constants say, with a
// class a frame, and the number of their frames.
func speechDataset(sequences int) (d *datapipeline.StaticDataset, frames int, err error) {
	d = &datapipeline.StaticDataset{DatasetName: "train"}
	random := rand.New(rand.NewPCG(14, 16))
	for i := range sequences {
		n := speechShortest + random.IntN(speechLongest-speechShortest+1)
		data, err := tfbridge.NewTensorFromSlice([]int64{int64(n), speechFeatures}, make([]float32, n*speechFeatures))
		if err != nil {
			return d, 0, err
		}
		d.Seqs = append(d.Seqs, &datapipeline.Sequence{Tag: fmt.Sprint(i), Data: map[string]any{"data": data, "classes": make([]int32, n)}})
		frames += n
	}
	return d, frames, nil
}

// besideModel is the suffix of a way's name for a measurement with a model.
const besideModel = "_model"

// providerRun describes a measurement.
type providerRun struct {
	epochs int
	model  bool // whether a model computes; if not, batches are only taken
}

// fetch returns what a run fetches of a batch of frames: one number.
func (r *providerRun) fetch(s *graph.Scope, data tfbridge.Output) tfbridge.Output {
	if !r.model {
		return graph.Size(s, data)
	}
	x := graph.Reshape(s, data, s.Const([]int64{-1, speechFeatures}))
	hidden := s.Op1("Relu", nil, s.Op1("MatMul", nil, x, s.Zeros(tfbridge.Float, speechFeatures, providerHidden)))
	y := s.Op1("MatMul", nil, hidden, s.Zeros(tfbridge.Float, providerHidden, providerHidden))
	return graph.Sum(s, y, s.Const([]int64{0, 1}))
}

// providerTime returns how long some epochs take.
func providerTime(ctx context.Context, name string, d datapipeline.Dataset, r *providerRun) (time.Duration, error) {
	s := graph.NewScope()
	defer s.Graph().Close()
	p, err := providers[name](s, &datapipeline.ExternData{Data: map[string]datapipeline.Data{
		"data":    {DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, speechFeatures)},
		"classes": {DType: tfbridge.Int32, Shape: tfbridge.MakeShape(-1)},
	}}, &datapipeline.Options{
		Chunking: datapipeline.Chunking{Size: int(speechCut.Size), Step: int(speechCut.Step)},
		Batching: datapipeline.Batching{BatchSize: speechFrames},
	})
	if err != nil {
		return 0, err
	}
	fetch := r.fetch(s, p.Data()["data"])
	session, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		return 0, err
	}
	defer session.Close()
	begun := time.Now()
	for epoch := range 1 + r.epochs {
		if err := readEpoch(ctx, p, session, d, fetch); err != nil {
			return 0, err
		}
		if epoch == 0 {
			begun = time.Now()
		}
	}
	return time.Since(begun), nil
}

// readEpoch reads an epoch and fetches one number a batch.
func readEpoch(ctx context.Context, p datapipeline.DataProvider, session *tfbridge.Session, d datapipeline.Dataset, fetch tfbridge.Output) error {
	if err := p.InitDataset(d, &datapipeline.Epoch{Train: true}); err != nil {
		return err
	}
	if err := p.StartThreads(ctx, session); err != nil {
		return err
	}
	defer p.StopThreads()
	for {
		more, err := p.HaveMoreData(ctx)
		if err != nil || !more {
			return err
		}
		feeds, err := p.FeedDict(ctx)
		if err != nil {
			return err
		}
		out, err := session.RunContext(ctx, feeds, []tfbridge.Output{fetch}, nil)
		if err != nil {
			return err
		}
		out[0].Close()
	}
}

// providerRows are the comparisons of the two ways.
func providerRows() []row {
	rate := func(name string) func(r round) float64 {
		return func(r round) float64 { return r.Queues.Providers[name] }
	}
	frames := func(v float64) string { return fmt.Sprintf("%.0f frames/s", v) }
	const what = "batches of chunks staged by queues, against batches that are fed (both ours)"
	return []row{
		{what + ", beside a model", rate("staged" + besideModel), rate("fed" + besideModel), frames, target{atLeast: providerTarget}},
		{what, rate("staged"), rate("fed"), frames, target{}},
	}
}
