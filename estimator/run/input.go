package run

import (
	"context"
	"encoding/json"

	"millrace/loaders"
	"millrace/loaders/plan"
)

// inputName is the file of the input pipeline in RUN_DIR.
const inputName = "input.json"

// Input is what input.json holds: the stages of the training's input pipeline.
type Input struct {
	Stages []plan.Stage `json:"stages"`          // as in the plan
	Times  []StageTime  `json:"times,omitempty"` // times of the TensorFlow datasets of the stages; nil: not measured

	Batches int64 `json:"batches,omitempty"` // largest number of batches measured for Times
}

// StageTime is what a dataset did; see loaders/run.StageTime.
type StageTime struct {
	Name     string  `json:"name"`
	Datasets int     `json:"datasets"`
	Elements int64   `json:"elements"`
	Seconds  float64 `json:"seconds"`
	Buffered int64   `json:"buffered"`
}

// Input reads input.json; nil if there is none.
func (f Folder) Input() (*Input, error) {
	text, err := f.read(inputName)
	if text == nil || err != nil {
		return nil, err
	}
	in := &Input{}
	if err := json.Unmarshal(text, in); err != nil {
		return nil, folderError(f.path(inputName), "damaged: %v", err)
	}
	return in, nil
}

// timedBatches is how many batches of the input pipeline are timed, at most.
const timedBatches = 200

// writeInput writes the stages of the training's input pipeline.
func (w *watch) writeInput() error {
	return w.run.folder.write(inputName, &Input{Stages: w.run.TrainPlan.Explanation().Stages})
}

// timeInput reads batches once more, without training on them, to write how long each
// stage takes. So the training itself is not slowed down, and its checkpoints are the
// same with a profile and without.
func (w *watch) timeInput(ctx context.Context, steps int64) error {
	if w.profile.wanted == nil || steps == 0 {
		return nil
	}
	in := &Input{Stages: w.run.TrainPlan.Explanation().Stages, Batches: min(steps, timedBatches)}
	times, err := loaders.TimeStages(ctx, w.run.TrainPlan, w.scan, in.Batches)
	if err != nil {
		return err
	}
	for _, t := range times {
		in.Times = append(in.Times, StageTime{t.Name, t.Datasets, t.Elements, t.Time.Seconds(), t.Buffered})
	}
	return w.run.folder.write(inputName, in)
}
