// Command sunspots forecasts each month's sunspot number of 1953 to 2008 from the 48
// months before it, with the model in examples/sunspots, and prints its error and the
// errors of two forecasts that need no model.
//
//	go run ./examples/sunspots
//
// The loader makes the windows: 49 months long, one starting each month. Config
// predict.json splits them into the model's input and the value that the model should
// forecast.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"millrace/estimator"
	"millrace/loaders"
	"millrace/tfbridge"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, filepath.Join("examples", "sunspots"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run predicts over the held-back months in dir and prints the result.
func run(ctx context.Context, dir string, out io.Writer) error {
	score, err := evaluate(ctx, filepath.Join(dir, "predict.json"), filepath.Join(dir, "model"))
	if err != nil {
		return err
	}
	return score.print(out)
}

// evaluate compares the model's forecasts with the observed numbers.
func evaluate(ctx context.Context, config, dir string) (*score, error) {
	model, err := estimator.LoadModel(dir, nil)
	if err != nil {
		return nil, err
	}
	defer model.Close()
	names, err := model.Names("")
	if err != nil {
		return nil, err
	}

	// The model's input is "history". "actual" and "month" are not inputs of the model;
	// Keep yields them besides its output. It also yields "history", for the forecasts
	// without a model.
	keep := []string{"history", "actual", "month"}
	loader, err := loaders.Open(config, &loaders.Options{Check: &loaders.CheckOptions{Model: names, Keep: keep}})
	if err != nil {
		return nil, err
	}
	defer loader.Close()
	s := &score{}
	for batch, err := range model.Predict(ctx, loader, &estimator.PredictOptions{Keep: keep}) {
		if err != nil {
			return nil, err
		}
		if err := s.addBatch(batch); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// addBatch adds a batch of windows. The views are valid until the next one.
func (s *score) addBatch(batch *loaders.Batch) error {
	history, err := tfbridge.View[float32](batch.Tensor("history"))
	if err != nil {
		return err
	}
	actual, err := tfbridge.View[float32](batch.Tensor("actual"))
	if err != nil {
		return err
	}
	next, err := tfbridge.View[float32](batch.Tensor("next"))
	if err != nil {
		return err
	}
	months, err := tfbridge.View[int32](batch.Tensor("month"))
	if err != nil {
		return err
	}
	size := len(history) / len(actual)
	for i, month := range months {
		s.add(month, history[i*size:(i+1)*size], next[i], actual[i])
	}
	return nil
}
