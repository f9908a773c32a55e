package estimator_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace"
	"millrace/estimator"
	"millrace/estimator/checkpoint"
	"millrace/graph"
	"millrace/graph/steps"
	"millrace/internal/test/fixture"
	"millrace/tfbridge"
	"millrace/tfrecord/example"
)

// oddPoint is a record of a dataset of points with any class and place.
func oddPoint(class int64, x float32) []byte {
	return example.Marshal([]example.Named{{Name: "id", Feature: fixture.Ints(class)}, {Name: "xs", Feature: fixture.Floats(x, x)}})
}

// A loss that is not finite, and a label that the model does not know, end the
// training with the signature's error. The checkpoint before stays (F21).
func TestTrainOnOddRecords(t *testing.T) {
	infinite := float32(math.Inf(1))
	for name, odd := range map[string][]byte{"not finite": oddPoint(1, infinite), "out of range": oddPoint(7, 1)} {
		t.Run(name, func(t *testing.T) {
			d := fixture.Points(t, 2, nil)
			records := [][]byte{}
			for range 20 {
				records = append(records, oddPoint(0, 1))
			}
			d.WriteRecords(t, "c.tfrecords", append(records, odd)...)
			dir := t.TempDir()
			_, err := train(t, d, dir, &estimator.TrainOptions{CheckpointEvery: 3})
			var e *millrace.Error
			if !errors.As(err, &e) || e.Class != millrace.ErrModel || e.Signature != "train" {
				t.Fatalf("got %v", err)
			}
			if text := e.Error(); name == "not finite" && (!strings.Contains(text, "step 8: the loss is ") || !strings.Contains(text, "c.tfrecords records 16 to 20;")) {
				t.Errorf("the error does not name the step and the records: %v", err)
			}
			if c, _, err := checkpoint.Newest(dir); err != nil || c == nil || c.Info.Step != 6 {
				t.Errorf("the checkpoint before: %+v, %v", c, err)
			}
		})
	}
}

// A second training in a folder is refused while the first runs (F18).
func TestTrainTwiceAtOnce(t *testing.T) {
	d, dir := fixture.Points(t, 2, fixture.Shuffled()), t.TempDir()
	o := &estimator.TrainOptions{Steps: 2}
	o.Hooks.AfterStep = func(s *estimator.Step) error {
		if s.Step > 1 {
			return nil
		}
		if _, err := train(t, d, dir, nil); !errors.Is(err, millrace.ErrCheckpoint) || !strings.Contains(err.Error(), "locked by process") {
			t.Errorf("a second training: %v", err)
		}
		return nil
	}
	if _, err := train(t, d, dir, o); err != nil {
		t.Fatal(err)
	}
	if _, err := train(t, d, dir, o); err != nil {
		t.Errorf("after the first: %v", err)
	}
}

// A folder of another training is refused, with the differences; allowed differences
// must be named (F10, F11).
func TestTrainInAnothersFolder(t *testing.T) {
	d, dir := fixture.Points(t, 2, fixture.Shuffled()), t.TempDir()
	if _, err := train(t, d, dir, &estimator.TrainOptions{Steps: 3, Job: map[string]string{"seed": "1"}}); err != nil {
		t.Fatal(err)
	}
	o := &estimator.TrainOptions{Steps: 5, Job: map[string]string{"seed": "2"}, DataKeys: []string{"seed"}}
	if _, err := train(t, d, dir, o); !errors.Is(err, millrace.ErrCheckpoint) || !strings.Contains(err.Error(), "seed was 1 and now is 2") {
		t.Errorf("another seed: %v", err)
	}
	var notes []string
	o.AllowChanged, o.Hooks.Note = []string{"seed"}, func(text string) { notes = append(notes, text) }
	if r, err := train(t, d, dir, o); err != nil || r.Steps != 2 || len(notes) != 2 {
		t.Errorf("an allowed change: %+v, %v, notes %q", r, err, notes)
	}
	other := &estimator.TrainOptions{Init: filepath.Join(modelDir("linear"), "variables", "variables")}
	if _, err := train(t, d, t.TempDir(), other); !errors.Is(err, millrace.ErrCheckpoint) || !strings.Contains(err.Error(), "hidden/kernel (kernel) is missing") {
		t.Errorf("the checkpoint of another model: %v", err)
	}
}

// A training begins with the variables of a checkpoint that Python wrote.
func TestTrainInit(t *testing.T) {
	d, dir := fixture.Points(t, 2, fixture.Shuffled()), t.TempDir()
	if _, err := train(t, d, dir, &estimator.TrainOptions{Steps: 20, Init: filepath.Join(classifier, "variables", "variables")}); err != nil {
		t.Fatal(err)
	}
	alone := t.TempDir()
	if _, err := train(t, d, alone, &estimator.TrainOptions{Steps: 20}); err != nil {
		t.Fatal(err)
	}
	sameCheckpoint(t, alone, dir, 20) // the model's own checkpoint is Python's
	first := 0.0
	o := &estimator.TrainOptions{Steps: 1, Init: dir}
	o.Hooks.AfterStep = func(s *estimator.Step) error {
		first = s.Loss
		return nil
	}
	if _, err := train(t, d, t.TempDir(), o); err != nil || first > 0.3 {
		t.Errorf("the first loss after 20 steps is %v, %v", first, err)
	}
}

// A folder without write permission is an error before the first step (F06).
func TestTrainWhereNothingCanBeWritten(t *testing.T) {
	d := fixture.Points(t, 2, fixture.Shuffled())
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	o := &estimator.TrainOptions{Steps: 3}
	o.Hooks.BeforeStep = func(int64) error {
		t.Error("a step was made")
		return nil
	}
	for _, dir := range []string{filepath.Join(file, "run"), "/proc/millrace"} {
		if _, err := train(t, d, dir, o); !errors.Is(err, millrace.ErrCheckpoint) || !errors.Is(err, millrace.ErrIO) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// A checkpoint that cannot be written ends the training, and the one before
// stays.
func TestTrainWhereACheckpointCannotBeWritten(t *testing.T) {
	d, dir := fixture.Points(t, 2, fixture.Shuffled()), t.TempDir()
	o := &estimator.TrainOptions{Steps: 9, CheckpointEvery: 3}
	o.Hooks.Saved = func(s *estimator.Saved) error { // a file where the folder of files being written would be
		writing := filepath.Join(dir, ".writing")
		if err := os.Remove(writing); err != nil {
			return err
		}
		return os.WriteFile(writing, nil, 0o666)
	}
	if _, err := train(t, d, dir, o); !errors.Is(err, millrace.ErrCheckpoint) || !errors.Is(err, millrace.ErrIO) {
		t.Fatalf("got %v", err)
	}
	if c, skipped, err := checkpoint.Newest(dir); err != nil || len(skipped) > 0 || c == nil || c.Info.Step != 3 {
		t.Errorf("the checkpoint before: %+v, %v, %v", c, skipped, err)
	}
	o.Hooks.Saved = nil
	if r, err := train(t, d, dir, o); err != nil || r.Steps != 6 {
		t.Errorf("the same again: %+v, %v", r, err)
	}
}

// A training under other settings is resumed, with a note of possible differences (F12).
func TestTrainUnderOtherSettings(t *testing.T) {
	d, dir := fixture.Points(t, 2, fixture.Shuffled()), t.TempDir()
	var notes []string
	o := &estimator.TrainOptions{Steps: 2, Settings: map[string]string{"onednn": "on"}}
	o.Hooks.Note = func(text string) { notes = append(notes, text) }
	for _, onednn := range []string{"on", "on", "off"} {
		o.Settings = map[string]string{"onednn": onednn}
		if r, err := train(t, d, dir, o); err != nil || r.Steps != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
		o.Steps += 2
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "may differ: onednn was on and now is off") {
		t.Errorf("notes %q", notes)
	}
}

// One checkpoint at a time is being written: the next one waits for it (F24).
func TestTrainWaitsForTheCheckpointBefore(t *testing.T) {
	var saved []int64
	o := &estimator.TrainOptions{Steps: 12, CheckpointEvery: 1, Keep: 2}
	o.Hooks.Saved = func(s *estimator.Saved) error {
		saved = append(saved, s.Step)
		return nil
	}
	o.Hooks.AfterStep = func(s *estimator.Step) error {
		if n := int64(len(saved)); n < s.Step-2 {
			t.Errorf("after step %d, the checkpoints %v have been written", s.Step, saved)
		}
		return nil
	}
	if _, err := train(t, fixture.Points(t, 2, fixture.Shuffled()), t.TempDir(), o); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(saved, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}) {
		t.Errorf("checkpoints %v", saved)
	}
}

// A checkpoint whose input waits for data is skipped, and the training continues (F22).
func TestTrainWhoseInputWaits(t *testing.T) {
	m := loadClassifier(t)
	var notes []string
	o := &estimator.TrainOptions{Steps: 4, CheckpointEvery: 2, SaveTimeout: time.Millisecond}
	o.Hooks.Note = func(text string) { notes = append(notes, text) }
	dir := t.TempDir()
	r, err := estimator.Train(t.Context(), m, &waiting{at: 2}, dir, o)
	if err != nil || r.Steps != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	if steps, err := checkpoint.Steps(dir); err != nil || !equalSteps(steps, []int64{4}) {
		t.Errorf("checkpoints of steps %v, %v", steps, err)
	}
	if len(notes) != 1 || !strings.HasPrefix(notes[0], "no checkpoint of step 2: ") {
		t.Errorf("notes %q", notes)
	}
}

// waiting is a source that repeats one point. After some batches its threads wait for
// data, so its position cannot be taken.
type waiting struct{ at, taken int }

func (w *waiting) Pipeline(_ context.Context, s *graph.Scope) (*steps.Pipeline, error) {
	in := steps.Input{
		Tensors: []steps.NamedOutput{{Name: "id", Output: s.Const([]int64{1})}, {Name: "xs", Output: s.Const([][]float32{{1, 1}})}},
		Open:    func(context.Context, *tfbridge.Session, *steps.Options) (steps.Pass, error) { return w, nil },
	}
	return steps.New(in), s.Err()
}

func (w *waiting) Next(context.Context) ([]*tfbridge.Tensor, error) { return nil, nil }
func (w *waiting) Failed(_ context.Context, err error) error        { return err }
func (w *waiting) Close()                                           {}
func (w *waiting) Taken(int64) ([]byte, error)                      { w.taken++; return nil, nil }

func (w *waiting) SaveState(ctx context.Context) (func() ([]byte, error), error) {
	if w.taken == w.at {
		<-ctx.Done()
		return nil, millrace.Canceled(ctx, "")
	}
	return func() ([]byte, error) { return []byte("position"), nil }, nil
}
