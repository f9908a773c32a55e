package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"
)

// Training by several processes. Two processes, each pinned to its own processor, train a model
// of a million parameters together; one process on one processor trains the same
// batches. A step of the one takes a tenth of a second or more, so that the exchange of the
// derivatives is a part that can pay. The losses have to agree.
const (
	clusterKind  = "wide"
	clusterBatch = 1024
	clusterSteps = 60
	clusterWarm  = 10 // steps that are not timed
	clusterLog   = 10
	// A step of each is a mean over the batch in another order.
	clusterTolerance = 1e-5
)

// clusterRound is one measurement of a training by several processes.
type clusterRound struct {
	Alone    trainRate `json:"alone"`
	Together trainRate `json:"together"`
}

// prepareCluster makes the model, and measures and reports.
func prepareCluster(ctx context.Context, ways sides, s settings, out io.Writer) (bool, error) {
	t, err := prepareTraining(ctx, ways)
	if err != nil {
		return false, err
	}
	if err := t.makeModel(ctx, clusterKind); err != nil {
		return false, err
	}
	rounds, err := repeat(s.rounds, func() (r round, err error) {
		r.Cluster, err = t.together(ctx)
		return r, err
	})
	if err != nil {
		return false, err
	}
	if err := writeResults(filepath.Join(s.dir, "results-cluster.json"), rounds); err != nil {
		return false, err
	}
	return table(out, rounds, []row{{
		"steps of two processes on a processor each, against one process on one",
		func(r round) float64 { return r.Cluster.Together.StepsPerS },
		func(r round) float64 { return r.Cluster.Alone.StepsPerS }, stepRate, target{atLeast: 1.7},
	}}), nil
}

// together takes one round: one process, then two.
func (t *training) together(ctx context.Context) (*clusterRound, error) {
	r := &clusterRound{}
	addresses, err := freeAddresses(2)
	if err != nil {
		return nil, err
	}
	if r.Alone, err = t.pinned(ctx, nil); err != nil {
		return nil, err
	}
	if r.Together, err = t.pinned(ctx, addresses); err != nil {
		return nil, err
	}
	if d := math.Abs(r.Together.Loss - r.Alone.Loss); !(d <= clusterTolerance*math.Max(1, math.Abs(r.Alone.Loss))) {
		return nil, fmt.Errorf("the losses of the last step differ by %g: %+v", d, *r)
	}
	return r, nil
}

// pinned trains with a process for each address, each pinned to its own processor; without
// addresses with one process.
func (t *training) pinned(ctx context.Context, addresses []string) (trainRate, error) {
	loader := loaderArgs(t.data, clusterBatch, 0, "x", "y")
	loader["epochs"], loader["drop_remainder"] = nil, true
	config := object{
		"model": object{"saved_model": clusterKind, "train": object{
			"signature": "serving_default", "optimizer": object{"type": "adam"},
			"loss": object{"type": "sparse_softmax_cross_entropy", "predictions": "logits", "labels": "y"},
		}},
		"train":       object{"loader": object{"type": "independent", "args": loader}, "steps": clusterSteps, "log_every": clusterLog},
		"checkpoints": object{"every_steps": math.MaxInt32},
		"seed":        1,
	}
	if addresses != nil {
		config["cluster"] = object{"worker": addresses}
	}
	file, folder := filepath.Join(t.dir, "cluster.json"), filepath.Join(t.dir, "run")
	if err := errors.Join(os.RemoveAll(folder), writeJSON(file, config)); err != nil {
		return trainRate{}, err
	}
	var losses [2]trainRate
	group, ctx := errgroup.WithContext(ctx)
	for rank := range max(1, len(addresses)) {
		args := []string{"--cpu-list", strconv.Itoa(rank), t.millrace.program, "train", file, "--dir", folder, "--json"}
		if addresses != nil {
			args = append(args, "--task", fmt.Sprint("worker:", rank), "--trusted-network")
		}
		group.Go(func() error { return runJSON(ctx, &losses[rank], "taskset", args...) })
	}
	if err := group.Wait(); err != nil {
		return trainRate{}, err
	}
	rate, err := loggedRate(filepath.Join(folder, "events", "train"), clusterWarm)
	return trainRate{StepsPerS: rate, Loss: losses[0].Loss}, err
}

// freeAddresses returns n different addresses of this machine at whose ports nothing listened
// a moment ago.
func freeAddresses(n int) ([]string, error) {
	var addresses []string
	for range n {
		l, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // after each has one, so that they differ
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}
