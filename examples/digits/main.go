// Command digits runs the model in examples/digits over the digits on which it was not
// trained and prints how many it reads right.
//
//	go run ./examples/digits
//
// It is also the shortest complete program with this module: it checks a loader
// config against a model, runs the model over the data, and reads the batches.
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
	if err := run(ctx, filepath.Join("examples", "digits"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run predicts over the held-back digits in dir and prints the result.
func run(ctx context.Context, dir string, out io.Writer) error {
	score, err := evaluate(ctx, filepath.Join(dir, "predict.json"), filepath.Join(dir, "model"))
	if err != nil {
		return err
	}
	return score.print(out)
}

// evaluate compares the model's digits with the labels.
func evaluate(ctx context.Context, config, dir string) (score *confusion, err error) {
	model, err := estimator.LoadModel(dir, nil)
	if err != nil {
		return nil, err
	}
	defer model.Close()
	names, err := model.Names("")
	if err != nil {
		return nil, err
	}

	// The config gives "image", the model's input, and "label", which is not an input
	// of the model. Keep yields "label" besides the outputs.
	keep := []string{"label"}
	loader, err := loaders.Open(config, &loaders.Options{Check: &loaders.CheckOptions{Model: names, Keep: keep}})
	if err != nil {
		return nil, err
	}
	defer loader.Close()
	score = &confusion{}
	for batch, err := range model.Predict(ctx, loader, &estimator.PredictOptions{Keep: keep}) {
		if err != nil {
			return nil, err
		}
		if err := score.addBatch(batch); err != nil {
			return nil, err
		}
	}
	return score, nil
}

// addBatch counts a batch. The views are valid until the next one.
func (c *confusion) addBatch(batch *loaders.Batch) error {
	labels, err := tfbridge.View[int64](batch.Tensor("label"))
	if err != nil {
		return err
	}
	digits, err := tfbridge.View[int64](batch.Tensor("digit"))
	if err != nil {
		return err
	}
	for i := range labels {
		if err := c.add(labels[i], digits[i]); err != nil {
			return err
		}
	}
	return nil
}
