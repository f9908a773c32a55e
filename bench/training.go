package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/tfrecord"
)

// Training. Python makes each model once, with a signature that trains. On our side
// millrace train trains that SavedModel; Python's sides begin with the same weights and
// read the same batches in the same order. So the loss of the last step has to be the
// same on all sides.
const (
	trainScript      = "bench/bench_python_training.py"
	trainRecords     = 100_000
	trainClasses     = 10
	checkpointsEvery = 500
	logEvery         = 50
	lossTolerance    = 1e-3
)

// trainKind is a kind of model.
type trainKind struct {
	name        string
	epoch       int  // steps; one epoch is not timed, nine are, and one step more gives the loss
	checkpoints bool // also train with checkpoints
}

// Checkpoints take the largest share of a run where the steps are short. The
// convolutions take few steps: Python adds up the derivatives of a batch in two
// threads, we in one. After 1501 steps that makes a difference of 0.0012 in the
// loss, after 501 of 0.0001; docs/performance.md says more.
var trainKinds = []trainKind{{"dense", 400, true}, {"convolution", 50, false}, {"lstm", 150, false}}

func (k trainKind) steps() int { return 10*k.epoch + 1 }

// training measures training.
type training struct {
	sides
	dir  string // everything that is made goes here
	data string
}

// prepareTraining makes the records and the models.
func prepareTraining(ctx context.Context, s sides) (*training, error) {
	t := &training{sides: s, dir: filepath.Join(s.python.dir, "training")}
	t.data = filepath.Join(t.dir, "data")
	if !made(t.data) {
		rng := rand.New(rand.NewPCG(3, 4))
		if err := makeRecords(t.data, trainRecords, func(int) []byte { return labelled(rng) }); err != nil {
			return nil, fmt.Errorf("make data: %w", err)
		}
	}
	for _, k := range trainKinds {
		if err := t.makeModel(ctx, k.name); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// makeModel makes a model of a kind, unless there is one.
func (t *training) makeModel(ctx context.Context, kind string) error {
	model := filepath.Join(t.dir, kind)
	if _, err := os.Stat(filepath.Join(model, "saved_model.pb")); err == nil {
		return nil
	}
	var made struct{}
	return t.python(ctx, &made, "model", kind, model)
}

// labelled returns an Example whose label is the place of the largest of its
// first floats, so that there is something to learn.
func labelled(rng *rand.Rand) []byte {
	x, largest := randomFloats(rng), 0
	for i := range trainClasses {
		if x[i] > x[largest] {
			largest = i
		}
	}
	return exampleOf(x, int64(largest))
}

// python runs the script.
func (t *training) python(ctx context.Context, result any, args ...string) error {
	args = append([]string{trainScript}, append(args, "--batch", strconv.Itoa(batchSize))...)
	return runJSON(ctx, result, t.sides.python.program, args...)
}

// run measures and reports only training.
func (t *training) run(ctx context.Context, s settings, out io.Writer) (bool, error) {
	rounds, err := repeat(s.rounds, func() (r round, err error) {
		r.Training, err = t.measure(ctx)
		return r, err
	})
	if err != nil {
		return false, err
	}
	if err := writeResults(filepath.Join(s.dir, "results-training.json"), rounds); err != nil {
		return false, err
	}
	return table(out, rounds, trainRows(rounds)), nil
}

// measure takes one round of all models.
func (t *training) measure(ctx context.Context) (map[string]*trainRound, error) {
	rounds := map[string]*trainRound{}
	for _, k := range trainKinds {
		r, err := t.round(ctx, k)
		if err != nil {
			return nil, fmt.Errorf("training of the model %s: %w", k.name, err)
		}
		rounds[k.name] = r
	}
	return rounds, nil
}

// round takes one round of a model, each side in processes of its own.
func (t *training) round(ctx context.Context, k trainKind) (*trainRound, error) {
	r := &trainRound{}
	args := []string{k.name, t.data, strconv.Itoa(k.steps()), strconv.Itoa(k.epoch)}
	var err error
	if r.Ours, err = t.ours(ctx, k, math.MaxInt32); err != nil {
		return nil, err
	}
	if err := t.python(ctx, r, append([]string{"loop"}, args...)...); err != nil {
		return nil, err
	}
	if k.checkpoints {
		if r.Checkpoints, err = t.ours(ctx, k, checkpointsEvery); err != nil {
			return nil, err
		}
	}
	if err := t.python(ctx, r, append([]string{"fit"}, args...)...); err != nil {
		return nil, err
	}
	return r, r.check(k)
}

// check returns an error unless all sides came to the same loss.
func (r *trainRound) check(k trainKind) error {
	others := []trainRate{r.Loop, r.Fit, r.FitSeveral}
	if k.checkpoints {
		others = append(others, r.Checkpoints)
	}
	for _, other := range others {
		if !(math.Abs(r.Ours.Loss-other.Loss) <= lossTolerance) {
			return fmt.Errorf("the losses of the last step differ by more than %g: %+v", lossTolerance, *r)
		}
	}
	return nil
}

// ours runs millrace train in a new folder, with a checkpoint every given number of
// steps.
func (t *training) ours(ctx context.Context, k trainKind, every int) (trainRate, error) {
	config, folder := filepath.Join(t.dir, k.name+".json"), filepath.Join(t.dir, "run")
	if err := os.RemoveAll(folder); err != nil {
		return trainRate{}, err
	}
	if err := writeJSON(config, t.config(k, every)); err != nil {
		return trainRate{}, err
	}
	var summary trainRate
	if err := runJSON(ctx, &summary, t.millrace.program, "train", config, "--dir", folder, "--json"); err != nil {
		return trainRate{}, err
	}
	// The summary's steps/s leave out what happens between the steps.
	rate, err := loggedRate(filepath.Join(folder, "events", "train"), int64(k.epoch))
	return trainRate{StepsPerS: rate, Loss: summary.Loss}, err
}

// config returns the run config of a model.
func (t *training) config(k trainKind, checkpoints int) object {
	loader := loaderArgs(t.data, batchSize, 0, "x", "y")
	loader["epochs"], loader["drop_remainder"] = nil, true
	return object{
		"model": object{"saved_model": k.name},
		"train": object{
			"loader": object{"type": "independent", "args": loader}, "steps": k.steps(), "log_every": logEvery,
		},
		"checkpoints": object{"every_steps": checkpoints},
		"seed":        1,
	}
}

// loggedRate returns the steps/s from one logged step to the last one, by the times at
// which a run's event file received them. So it includes all costs of a run: its log
// and its checkpoints as well as its steps.
func loggedRate(folder string, from int64) (float64, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) != 1 {
		return 0, fmt.Errorf("%s: %d event files, want one", folder, len(files))
	}
	var first, last tfproto.Event
	for record, err := range tfrecord.Records(files[0], nil) {
		if err != nil {
			return 0, err
		}
		if err := proto.Unmarshal(record.Data, &last); err != nil {
			return 0, fmt.Errorf("%s: %w", files[0], err)
		}
		if last.GetStep() == from && last.GetSummary() != nil {
			proto.Merge(&first, &last)
		}
	}
	if first.GetStep() != from || last.GetStep() <= from {
		return 0, fmt.Errorf("%s: no events of steps %d and later", files[0], from)
	}
	return float64(last.GetStep()-from) / (last.GetWallTime() - first.GetWallTime()), nil
}
