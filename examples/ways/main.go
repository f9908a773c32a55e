// Command ways trains one small classifier of digits four times. The trainings differ
// only in the way the data reaches the model, so the four losses are the same.
//
//	go run ./examples/ways -dir RUN_DIR
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
	"millrace/loaders"
)

func main() {
	dir := flag.String("dir", "", "folder of the run; there must be none yet")
	flag.Parse()
	if *dir == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if _, err := run(ctx, filepath.Join("examples", "ways"), *dir, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// trainSteps is the length of each training.
const trainSteps = 400

// run trains in all ways, with the configs in the folder ways. It returns the results
// by the names of the ways.
func run(ctx context.Context, ways, dir string, out io.Writer) (map[string]*trained, error) {
	digits, err := loadDigits(ctx, filepath.Join(ways, "whole.json"))
	if err != nil {
		return nil, err
	}
	defer digits.Close()
	read, err := loaders.Open(filepath.Join(ways, "read.json"), nil)
	if err != nil {
		return nil, err
	}
	defer read.Close()
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, err
	}
	model := filepath.Join(dir, "model")
	if err := layers.Save(model, classifier()); err != nil {
		return nil, err
	}
	results := map[string]*trained{}
	for _, way := range []struct {
		name   string
		source estimator.Source
	}{
		{"fed", fed(digits)},
		{"read", read},
		{"constant", constant(digits)},
		{"variable", preloaded(digits)},
	} {
		r, err := train(ctx, model, way.source, filepath.Join(dir, way.name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		fmt.Fprintf(out, "%-8s  step %d  loss %.9g  graph %d KiB\n", way.name, r.step, r.loss, r.graphBytes>>10)
		results[way.name] = r
	}
	return results, nil
}

// trained is the result of a training.
type trained struct {
	step       int64
	loss       float64
	graphBytes int // size of the model's graph with the source in it
}

// train trains the model from its initial values.
func train(ctx context.Context, path string, source estimator.Source, checkpoints string) (*trained, error) {
	model, err := estimator.LoadModel(path, &estimator.ModelOptions{Signatures: []string{"train"}})
	if err != nil {
		return nil, err
	}
	defer model.Close()
	result, err := estimator.Train(ctx, model, source, checkpoints, &estimator.TrainOptions{Steps: trainSteps})
	if err != nil {
		return nil, err
	}
	def, err := model.GraphDef(ctx)
	if err != nil {
		return nil, err
	}
	return &trained{result.Step, result.Loss, len(def)}, nil
}
