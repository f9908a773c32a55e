package run

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strconv"

	"millrace"
	"millrace/diag"
	"millrace/estimator/spec"
	"millrace/loaders"
	"millrace/loaders/processing"
	"millrace/observe"
	"millrace/remote"
	"millrace/tfbridge"
)

// Options are the options of [Open]. Nil means the defaults.
type Options struct {
	Runtime  *tfbridge.RuntimeOptions
	Session  *tfbridge.SessionOptions
	Observe  *observe.Listener // hears the events of the model and its runs; nil: no listener
	Steps    []processing.Type // the program's own types of processing steps: see [loaders.CheckOptions]
	Rank     int               // number of this process among those that train together; all but 0 write their logs to a folder in the run's folder
	Settings map[string]string // versions and modes that decide the last bits of what a step computes
}

// Run is a run config that was checked, and the folder of its run.
type Run struct {
	*spec.Run
	folder Folder // what this process writes to
	root   Folder // the folder of the run, with the checkpoints
	o      Options

	source *loaders.Source // source of the current training; nil before
}

// ExpectedSteps returns the number of steps that the training data suffice for, or 0 if it
// is unknown in advance. Skipped bad records reduce it. The hooks of a training may call
// it.
func (r *Run) ExpectedSteps() int64 {
	if r.source == nil {
		return 0
	}
	rows, _ := r.source.ExpectedRows() // 0 if it is not known
	return r.TrainPlan.ExpectedBatches(rows)
}

// Open checks a run config for a run in dir, which need not exist. A run without a seed
// uses the one drawn at its beginning. The error of a config with problems is a [diag.List]
// of all of them.
func Open(path, dir string, o *Options) (*Run, diag.List, error) {
	r := &Run{folder: Folder(dir), root: Folder(dir)}
	if o != nil {
		r.o = *o
	}
	if r.o.Rank > 0 {
		r.folder = r.root.Worker(r.o.Rank)
	}
	checked, problems := spec.Check(path, &spec.Options{Runtime: r.o.Runtime, Session: r.o.Session, Observe: r.o.Observe, Steps: r.o.Steps})
	if checked == nil {
		return nil, nil, problems
	}
	r.Run = checked
	before, err := r.folder.Record()
	if err != nil {
		return nil, nil, err
	}
	if before != nil {
		for _, plan := range []*loaders.Plan{r.TrainPlan, r.EvaluatePlan} {
			if plan != nil && !plan.SeedGiven {
				plan.Seed = before.Seed
			}
		}
	}
	return r, problems, nil
}

// Folder returns the folder that this process writes its log to: the folder of the run, or
// one in it for a process whose rank is not 0.
func (r *Run) Folder() Folder { return r.folder }

// job returns the digests that identify a training of this run, and the values behind
// them; see estimator.TrainOptions.Job and Parts.
func (r *Run) job() (job map[string]string, parts map[string]map[string]string, err error) {
	id, err := r.TrainPlan.Identity()
	if err != nil {
		return nil, nil, err
	}
	job = map[string]string{
		loaderKey: id.Batches, manifestKey: r.TrainPlan.Manifest.SHA256, seedKey: strconv.FormatInt(r.TrainPlan.Seed, 10),
	}
	parts = map[string]map[string]string{loaderKey: id.Keys}
	optimizer, rate, err := r.Config.Model.Train.OptimizerSettings()
	if err != nil {
		return nil, nil, err
	}
	if optimizer != nil {
		text, err := json.Marshal(optimizer)
		if err != nil {
			return nil, nil, millrace.Errorf(millrace.ErrInternal, "run: %w", err)
		}
		job[optimizerKey], job[rateKey], parts[optimizerKey] = string(text), rate, optimizer
	}
	return job, parts, nil
}

// Keys of a job that --allow-changed takes, beside the model's.
const (
	loaderKey    = "loader"   // the config of the training data with the sizes of its files
	manifestKey  = "manifest" // manifest of the training data
	seedKey      = "seed"
	optimizerKey = "optimizer" // its type and settings
	rateKey      = "learning_rate"
)

// record returns the content of run.json.
func (r *Run) record(job map[string]string) (*Record, error) {
	path, err := absolute(r.Path)
	if err != nil {
		return nil, err
	}
	model, err := absolute(r.ModelDir)
	if err != nil {
		return nil, err
	}
	return &Record{Config: r.Config, Path: path, Model: model, Seed: r.TrainPlan.Seed, Job: job, Settings: r.settings()}, nil
}

// absolute returns a path that starts at the root. URLs do.
func absolute(name string) (string, error) {
	if remote.IsURL(name) {
		return name, nil
	}
	full, err := filepath.Abs(name)
	if err != nil {
		return "", folderError(name, "%w", err)
	}
	return full, nil
}

// hyperparameters returns what decides how well the run trains, for comparisons with
// others: the size of the batches, the seed, the loss, and the settings of the
// optimizer that have values.
func (r *Run) hyperparameters() map[string]any {
	values := map[string]any{"batch_size": float64(r.TrainPlan.BatchSize), "seed": float64(r.TrainPlan.Seed)}
	t := &r.Config.Model.Train
	if t.Loss.B != nil {
		values["loss"] = t.Loss.B.Type
	}
	settings, rate, err := t.OptimizerSettings()
	if err != nil || settings == nil {
		return values
	}
	settings[rateKey] = rate
	for name, text := range settings {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil || v == nil {
			continue
		}
		switch v.(type) {
		case float64, bool, string:
		default:
			v = text
		}
		if name == "type" {
			name = optimizerKey
		}
		values[name] = v
	}
	return values
}

// settings returns the settings with TensorFlow's version.
func (r *Run) settings() map[string]string {
	settings := map[string]string{"tensorflow": tfbridge.Version()}
	maps.Copy(settings, r.o.Settings)
	return settings
}
