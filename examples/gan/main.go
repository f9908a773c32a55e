// Gan trains a generative adversarial network: two networks with two losses and two
// optimizers, in one step. The estimator provides checkpoints, logs and resuming.
//
//	go run ./examples/gan RUN_DIR [STEPS]
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"millrace/estimator"
	"millrace/estimator/checkpoint"
	"millrace/estimator/layers"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

func main() {
	dir, steps := "gan-run", int64(2000)
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if len(os.Args) > 2 {
		steps, _ = strconv.ParseInt(os.Args[2], 10, 64)
	}
	if _, err := run(context.Background(), dir, steps, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run trains up to a step, from the newest checkpoint of the folder.
func run(ctx context.Context, dir string, steps int64, out io.Writer) (*estimator.TrainResult, error) {
	saved := filepath.Join(dir, "model")
	if _, err := os.Stat(saved); errors.Is(err, fs.ErrNotExist) {
		if err := errors.Join(os.MkdirAll(dir, 0o777), layers.Save(saved, gan())); err != nil {
			return nil, err
		}
	}
	model, err := estimator.LoadModel(saved, &estimator.ModelOptions{Signatures: []string{"train"}})
	if err != nil {
		return nil, err
	}
	defer model.Close()
	checkpoints := filepath.Join(dir, "checkpoints")
	begin := int64(0)
	newest, _, err := checkpoint.Newest(checkpoints)
	if err != nil {
		return nil, err
	}
	if newest != nil {
		begin = newest.Info.Step
	}
	return estimator.Train(ctx, model, estimator.FromDataset(pointsFrom(begin), "noise", "real"), checkpoints, &estimator.TrainOptions{
		Steps: steps, LogEvery: 200, CheckpointEvery: 500,
		Hooks: estimator.Hooks{Logged: func(p *estimator.Progress) error {
			_, err := fmt.Fprintf(out, "step %d: generator %.3f, discriminator %.3f\n", p.Step, p.Scalars["loss"], p.Scalars["discriminator_loss"])
			return err
		}},
	})
}

// pointsFrom gives batches of noise and of real points, which lie around (3, -1). They
// depend on the number of their step, so a resumed run sees the same points as an
// uninterrupted one. (A loader saves its position by itself; a dataset written in Go
// does not.)
func pointsFrom(step int64) func(s *graph.Scope) *dataset.Dataset {
	return func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, step, 1<<40, 1).Map("points", points, nil)
	}
}

// points makes the batches of a step.
func points(s *graph.Scope, step []tfbridge.Output) []tfbridge.Output {
	seed := graph.Pack(s, []tfbridge.Output{step[0], s.Const(int64(7))}, 0)
	normal := s.Op1("StatelessRandomNormal", nil, s.Const([]int64{2, 64, 2}), seed)
	parts := graph.Unpack(s, normal, 2, 0)
	real := graph.Add(s, graph.Mul(s, parts[1], s.Const(float32(0.3))), s.Const([]float32{3, -1}))
	return []tfbridge.Output{parts[0], real}
}
