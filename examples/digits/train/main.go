// Command train writes a model of Keras's layers in Go and trains it on the digits,
// from random weights. It evaluates on digits that are held back.
//
//	go run ./examples/digits/train -dir RUN_DIR
//
// RUN_DIR gets the model before the training and the checkpoints. The same command
// resumes from the newest checkpoint in the folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"

	"millrace/estimator"
	"millrace/estimator/layers"
	"millrace/estimator/metrics"
	"millrace/loaders"
)

func main() {
	dir := flag.String("dir", "", "folder of the run; it is made if there is none")
	flag.Parse()
	if *dir == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := train(ctx, filepath.Join("examples", "digits"), *dir, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// steps is the length of the training. The model is evaluated every evaluateEvery
// steps.
const steps, evaluateEvery = 880, 220

// train trains the model on the data in the folder digits.
func train(ctx context.Context, digits, dir string, out io.Writer) error {
	model, err := openModel(dir)
	if err != nil {
		return err
	}
	defer model.Close()
	data, err := loaders.Open(filepath.Join(digits, "train.json"), nil)
	if err != nil {
		return err
	}
	defer data.Close()
	heldBack, err := loaders.Open(filepath.Join(digits, "predict.json"), nil)
	if err != nil {
		return err
	}
	defer heldBack.Close()
	_, err = estimator.TrainAndEvaluate(ctx, model, data, heldBack, filepath.Join(dir, "checkpoints"), &estimator.TrainOptions{
		Steps: steps, EvaluateEvery: evaluateEvery,
		Evaluate: &estimator.EvaluateOptions{Signature: "evaluate", Metrics: []estimator.Metric{
			{Name: "accuracy", Spec: metrics.Spec{Type: metrics.Accuracy}, Labels: "label", Predictions: "digit"},
		}},
		Hooks: estimator.Hooks{Evaluated: func(e *estimator.Evaluated) error {
			_, err := fmt.Fprintf(out, "step %d: %d held-back digits, loss %.3f, accuracy %.4f\n",
				e.Step, e.Examples, e.Values["loss"].Number, e.Values["accuracy"].Number)
			return err
		}},
	})
	return err
}

// openModel opens the model of a run. The first time it builds and saves it.
func openModel(dir string) (*estimator.Model, error) {
	path := filepath.Join(dir, "model")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
		if err := layers.Save(path, classifier()); err != nil {
			return nil, err
		}
	}
	return estimator.LoadModel(path, &estimator.ModelOptions{Signatures: []string{"train", "evaluate"}})
}
