package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"

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

// Reading by a data service against reading without one: a dispatcher and one worker on this
// machine, over gRPC. Nothing here needs Python. A round takes a quarter of a minute.
const (
	serviceReads   = 10      // epochs of small records
	serviceFloats  = 1 << 18 // a large record has 1 MB
	serviceRecords = 400     // large records
)

// runService measures and reports.
func runService(ctx context.Context, s settings, out io.Writer) (bool, error) {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return false, err
	}
	program, err := buildOf(ctx, filepath.Join(dir, "millrace"), ".")
	if err != nil {
		return false, err
	}
	f := layout(dir, s.records)
	if err := f.make(s.records, serviceReads); err != nil {
		return false, err
	}
	large := filepath.Join(dir, "data-large")
	if err := makeLarge(large); err != nil {
		return false, err
	}
	address, stop, err := startService(ctx, program, dir)
	if err != nil {
		return false, err
	}
	defer stop()
	small := loaderArgs(f.data, 128, serviceReads, "x", "y")
	big := loaderArgs(large, 1, 3, "x")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "records/s\there\tby a worker\tratio\ttarget\t")
	met := true
	for _, x := range []struct {
		name    string
		args    object
		atLeast float64
	}{{"batches of 128 small records", small, 0.67}, {"records of 1 MB", big, 0.4}} {
		ok, err := compareService(ctx, w, s.rounds, program, filepath.Join(dir, "service.json"), x.name, x.args, address, x.atLeast)
		if err != nil {
			return false, fmt.Errorf("%s: %w", x.name, err)
		}
		met = met && ok
	}
	return met, w.Flush()
}

// makeLarge writes records of 1 MB, unless they are there.
func makeLarge(folder string) error {
	if made(folder) {
		return nil
	}
	x := make([]float32, serviceFloats)
	err := makeRecords(folder, serviceRecords, func(n int) []byte {
		for i := range x {
			x[i] = float32(n + i)
		}
		return exampleOf(x, int64(n))
	})
	if err != nil {
		return err
	}
	return writeJSON(filepath.Join(folder, manifestName), object{
		"compression": nil, "allow_var_len": false,
		"features": []object{{"name": "x", "dtype": "float32", "shape": []int{serviceFloats}, "deserialize_type": "float"}},
	})
}

// compareService measures a loader without and with the service in turns.
func compareService(ctx context.Context, out io.Writer, rounds int, program, file, name string, args object, address string, atLeast float64) (bool, error) {
	args["shuffle"], args["shuffle_mode"], args["seed"] = true, "exact", 1
	m := millrace{program: program}
	var here, there, ratios []float64
	for range rounds {
		var rates [2]float64
		for i := range rates {
			if delete(args, "service"); i == 1 {
				args["service"] = object{"address": address}
			}
			if err := writeJSON(file, object{"type": "independent", "args": args}); err != nil {
				return false, err
			}
			f, err := m.bench(ctx, file)
			if err != nil {
				return false, err
			}
			rates[i] = f.RecordsPerS
		}
		here, there, ratios = append(here, rates[0]), append(there, rates[1]), append(ratios, rates[1]/rates[0])
	}
	t, ratio := target{atLeast: atLeast}, median(ratios)
	fmt.Fprintf(out, "%s\t%.0f\t%.0f\t%.3f\t%s\t%s\n", name, median(here), median(there), ratio, t, t.verdict(t.met(0, ratio)))
	return t.met(0, ratio), nil
}

// startService starts a dispatcher and a worker. stop ends them.
func startService(ctx context.Context, program, dir string) (address string, stop func(), err error) {
	free, err := freeAddresses(2)
	if err != nil {
		return "", nil, err
	}
	var servers []*exec.Cmd
	stop = func() {
		for _, s := range servers {
			s.Process.Signal(syscall.SIGTERM)
			s.Wait()
		}
	}
	port := func(address string) string { _, port, _ := net.SplitHostPort(address); return port }
	for _, args := range [][]string{
		{"dispatcher", "--port", port(free[0]), "--work-dir", filepath.Join(dir, "journal"), "--trusted-network"},
		{"worker", "--port", port(free[1]), "--host", "localhost", "--dispatcher", free[0], "--data", dir, "--trusted-network"},
	} {
		cmd := exec.CommandContext(ctx, program, args...)
		pipe, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			stop()
			return "", nil, err
		}
		servers = append(servers, cmd)
		said, line := bufio.NewReader(pipe), ""
		for !strings.Contains(line, "msg=ready") {
			if line, err = said.ReadString('\n'); err != nil {
				stop()
				return "", nil, fmt.Errorf("%q: %s %w", args, line, err)
			}
		}
		go io.Copy(io.Discard, said)
	}
	return free[0], stop, nil
}
