// Command frames trains a small network that recognizes the phoneme of every 10 ms of
// speech, twice: with batches that are made in Go and fed, and with batches that queues
// make in the graph. The two losses are the same.
//
//	go run ./examples/frames -dir RUN_DIR
//
// RUN_DIR must not exist yet. It gets the model before the training and a folder of
// checkpoints for each way.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"millrace/estimator"
	"millrace/estimator/layers"
	"millrace/estimator/metrics"
	"millrace/graph/tf1/datapipeline"
	"millrace/tfbridge"
)

func main() {
	dir := flag.String("dir", "", "folder of the run; there must be none yet")
	steps := flag.Int64("steps", 300, "steps of each training")
	flag.Parse()
	if *dir == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if _, err := run(ctx, filepath.Join("examples", "frames", "data"), &settings{*dir, *steps, os.Stdout}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// settings are the options of a run.
type settings struct {
	dir   string
	steps int64
	out   io.Writer
}

// trained is the result of a training.
type trained struct {
	loss     float64
	accuracy map[string]float64 // for each dataset: the share of frames whose phoneme the model recognizes
}

// externData describes the sequences.
var externData = &datapipeline.ExternData{Data: map[string]datapipeline.Data{
	"data":    {DType: tfbridge.Float, Shape: tfbridge.MakeShape(-1, bands)},
	"classes": {DType: tfbridge.Int32, Shape: tfbridge.MakeShape(-1)},
}}

// options cut recordings into chunks of half a second, every quarter of a second, and
// batch ten seconds of them.
var options = datapipeline.Options{
	Chunking: datapipeline.Chunking{Size: 50, Step: 25, Context: map[string]datapipeline.Context{"data": {Left: contextFrames, Right: contextFrames}}},
	Batching: datapipeline.Batching{BatchSize: 1000},
}

// run trains in both ways. It returns the results by the names of the ways.
func run(ctx context.Context, data string, s *settings) (map[string]*trained, error) {
	x, err := newExtractor()
	if err != nil {
		return nil, err
	}
	defer x.Close()
	train, err := loadRecordings(ctx, x, data, "train", trainSet)
	if err != nil {
		return nil, err
	}
	defer train.Close()
	train.SeqOrdering, train.Seed = datapipeline.Random, 14
	dev, err := loadRecordings(ctx, x, data, "dev", devSet)
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	if err := os.Mkdir(s.dir, 0o777); err != nil {
		return nil, err
	}
	if err := layers.Save(filepath.Join(s.dir, "model"), classifier()); err != nil {
		return nil, err
	}
	results := map[string]*trained{}
	for _, way := range []struct {
		name   string
		source func(d datapipeline.Dataset) *datapipeline.Source
	}{
		{"fed", func(d datapipeline.Dataset) *datapipeline.Source {
			return datapipeline.FeedSource(d, externData, &datapipeline.FeedDictOptions{Options: options})
		}},
		{"queues", func(d datapipeline.Dataset) *datapipeline.Source {
			return datapipeline.QueueSource(d, externData, &options)
		}},
	} {
		r, err := trainAndEvaluate(ctx, way.name, way.source, []datapipeline.Dataset{train, dev}, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		fmt.Fprintf(s.out, "%-6s  loss %.9g  accuracy %.3f on the recordings of the training, %.3f on the one held back\n",
			way.name, r.loss, r.accuracy["train"], r.accuracy["dev"])
		results[way.name] = r
	}
	return results, nil
}

// trainAndEvaluate trains the model on the first dataset and evaluates it on all. A
// recording to evaluate is not cut.
func trainAndEvaluate(ctx context.Context, name string, source func(d datapipeline.Dataset) *datapipeline.Source, data []datapipeline.Dataset, s *settings) (*trained, error) {
	model, err := estimator.LoadModel(filepath.Join(s.dir, "model"), &estimator.ModelOptions{Signatures: []string{"train", "evaluate"}})
	if err != nil {
		return nil, err
	}
	defer model.Close()
	result, err := estimator.Train(ctx, model, source(data[0]), filepath.Join(s.dir, name), &estimator.TrainOptions{Steps: s.steps})
	if err != nil {
		return nil, err
	}
	r := &trained{result.Loss, map[string]float64{}}
	for _, d := range data {
		whole := source(d)
		whole.Train, whole.Epochs = false, 1
		e, err := estimator.Evaluate(ctx, model, whole, &estimator.EvaluateOptions{Signature: "evaluate", Metrics: []estimator.Metric{{
			Name: "accuracy", Spec: metrics.Spec{Type: metrics.Accuracy}, Labels: "classes", Predictions: "scores", Weights: "weights",
		}}})
		if err != nil {
			return nil, err
		}
		r.accuracy[d.Name()] = e.Values["accuracy"].Number
	}
	return r, nil
}
