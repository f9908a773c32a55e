package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"millrace/tfbridge"
)

// Live predictions: one image at a time, with a model of the examples.
const (
	liveModel  = "examples/digits/model"
	liveKey    = "serving_default"
	liveSource = "bench/bare/bare.c"
	liveScript = "bench/bench_python_live.py"
	liveWarm   = 500
	liveCalls  = 3000
	liveTurns  = 3 // turns of each side; the best one counts
)

var liveShape = []int64{1, 8, 8}

// live measures small live predictions.
type live struct {
	model  *tfbridge.SavedModel
	bare   []string // the program that calls TF_SessionRun, and its arguments
	python python
	input  string // input of the signature
}

// prepareLive loads the model and compiles the program with the bare call.
func prepareLive(ctx context.Context, s sides) (*live, error) {
	r, err := tfbridge.Open(nil)
	if err != nil {
		return nil, err
	}
	// The model runs in the calling thread, as in a service for small models. The bare
	// call does the same.
	m, err := tfbridge.LoadSavedModel(liveModel, []string{"serve"}, &tfbridge.SessionOptions{IntraOpThreads: 1, InterOpThreads: -1})
	if err != nil {
		return nil, err
	}
	l := &live{model: m, python: s.python}
	sig := m.Signatures[liveKey]
	if len(sig.Inputs) != 1 {
		return nil, fmt.Errorf("%s has not one input", liveModel)
	}
	var feed string
	for name, info := range sig.Inputs {
		l.input, feed = name, info.Name
	}
	var fetches []string
	for _, info := range sig.Outputs {
		fetches = append(fetches, info.Name)
	}
	program := filepath.Join(s.python.dir, "bare")
	if out, err := exec.CommandContext(ctx, "cc", "-O2", "-o", program, liveSource, "-ldl").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cc %s: %w\n%s", liveSource, err, out)
	}
	l.bare = append([]string{program, r.Dir(), liveModel, feed, strings.Join(fetches, ",")},
		liveArguments(strconv.FormatInt(values(liveShape), 10))...)
	return l, nil
}

// liveArguments returns the arguments of a measuring program: the number of calls, more
// arguments, and the shape.
func liveArguments(more ...string) []string {
	args := append([]string{strconv.Itoa(liveWarm), strconv.Itoa(liveCalls)}, more...)
	for _, d := range liveShape {
		args = append(args, strconv.FormatInt(d, 10))
	}
	return args
}

// values returns the number of elements of a shape.
func values(shape []int64) int64 {
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	return n
}

// close frees the model.
func (l *live) close() error { return l.model.Close() }

// measure takes one round.
func (l *live) measure(ctx context.Context) (r liveRound, err error) {
	for turn := range liveTurns {
		var bare, ours latency
		if err := runJSON(ctx, &bare, l.bare[0], l.bare[1:]...); err != nil {
			return r, err
		}
		if ours, err = l.calls(); err != nil {
			return r, err
		}
		if turn == 0 || bare.P50S < r.Bare.P50S {
			r.Bare = bare
		}
		if turn == 0 || ours.P50S < r.Ours.P50S {
			r.Ours = ours
		}
	}
	args := append([]string{liveScript, liveModel, liveKey, l.input, strconv.Itoa(liveTurns)}, liveArguments()...)
	return r, runJSON(ctx, &r.Python, l.python.program, args...)
}

// calls predicts image by image. Each image is fed from a slice, and its result is
// read.
func (l *live) calls() (latency, error) {
	data := make([]float32, values(liveShape))
	times := make([]time.Duration, 0, liveCalls)
	for i := range liveWarm + liveCalls {
		begun := time.Now()
		if err := l.call(data); err != nil {
			return latency{}, err
		}
		if i >= liveWarm {
			times = append(times, time.Since(begun))
		}
	}
	slices.Sort(times)
	return latency{P50S: times[len(times)/2].Seconds()}, nil
}

// call predicts one image.
func (l *live) call(data []float32) error {
	x, err := tfbridge.NewTensorFromSlice(liveShape, data)
	if err != nil {
		return err
	}
	defer x.Close()
	out, err := l.model.Run(context.Background(), liveKey, map[string]*tfbridge.Tensor{l.input: x})
	if err != nil {
		return err
	}
	for name, y := range out {
		if b, err := y.Bytes(); err != nil || len(b) == 0 {
			return fmt.Errorf("%s does not predict %s: %w", liveModel, name, err)
		}
		y.Close()
	}
	return nil
}

func microseconds(v float64) string { return fmt.Sprintf("%.1f us", v*1e6) }

// liveRows are the comparisons of live predictions. The bare call is in
// Python's column.
func liveRows() []row {
	ours := func(r round) float64 { return r.Live.Ours.P50S }
	return []row{
		{"one live prediction by signature, against Python's call", ours,
			func(r round) float64 { return r.Live.Python.P50S }, microseconds, target{atMost: 0.2}},
		{"one live prediction by signature, against the bare TF_SessionRun", ours,
			func(r round) float64 { return r.Live.Bare.P50S }, microseconds, target{atMost: 1.3}},
	}
}
