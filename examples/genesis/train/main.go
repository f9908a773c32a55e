// Command train writes a character LSTM of Keras's layers in Go and trains it on
// windows of Genesis, from random weights. It evaluates the model on the chapters that
// are held back, and lets the trained model write a few lines.
//
//	go run ./examples/genesis/train -dir RUN_DIR
//	go run ./examples/genesis/train -model EXPORT_DIR
//
// RUN_DIR gets the model before the training, the checkpoints and the trained model.
// The same command resumes from the newest checkpoint in the folder. With -model the
// command does not train, but lets a model from millrace export write the lines.
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
	"millrace/estimator/checkpoint"
	"millrace/estimator/export"
	"millrace/estimator/layers"
	"millrace/loaders"
)

func main() {
	dir := flag.String("dir", "", "folder of the run; it is made if there is none")
	model := flag.String("model", "", "folder of a trained model that writes lines")
	flag.Parse()
	if (*dir == "") == (*model == "") || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, *dir, *model); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// command trains in dir, or only samples from a model.
func command(ctx context.Context, dir, model string) error {
	if model == "" {
		model = filepath.Join(dir, "export")
		if err := train(ctx, filepath.Join("examples", "genesis"), dir, steps, os.Stdout); err != nil {
			return err
		}
		if err := exportNewest(dir, model); err != nil {
			return err
		}
	}
	return sample(ctx, model, os.Stdout, &sampleOptions{Start: "And ", Characters: 400, Temperature: 0.6, Seed: 1})
}

// steps is the length of the training. The model is evaluated every evaluateEvery
// steps.
const steps, evaluateEvery = 1320, 440

// train trains the model on the data in the folder genesis.
func train(ctx context.Context, genesis, dir string, steps int64, out io.Writer) error {
	model, err := openModel(dir)
	if err != nil {
		return err
	}
	defer model.Close()
	data, err := loaders.Open(filepath.Join(genesis, "characters.json"), nil)
	if err != nil {
		return err
	}
	defer data.Close()
	heldBack, err := loaders.Open(filepath.Join(genesis, "characters-heldback.json"), nil)
	if err != nil {
		return err
	}
	defer heldBack.Close()
	_, err = estimator.TrainAndEvaluate(ctx, model, data, heldBack, filepath.Join(dir, "checkpoints"), &estimator.TrainOptions{
		Objective: objective(), Steps: steps, EvaluateEvery: evaluateEvery,
		Evaluate: &estimator.EvaluateOptions{Objective: objective()},
		Hooks: estimator.Hooks{
			Logged: func(p *estimator.Progress) error {
				_, err := fmt.Fprintf(out, "step %4d: loss %.3f\n", p.Step, p.Loss)
				return err
			},
			Evaluated: func(e *estimator.Evaluated) error {
				_, err := fmt.Fprintf(out, "step %4d: loss of the held-back chapters %.3f\n", e.Step, e.Values["loss"].Number)
				return err
			},
		},
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
		if err := layers.Save(path, writer()); err != nil {
			return nil, err
		}
	}
	return estimator.LoadModel(path, nil)
}

// exportNewest writes the model of a run with the values of its newest checkpoint.
func exportNewest(dir, out string) error {
	newest, _, err := checkpoint.Newest(filepath.Join(dir, "checkpoints"))
	if err != nil {
		return err
	}
	return export.Write(filepath.Join(dir, "model"), newest, out)
}
