package run

import (
	"strconv"

	"millrace"
	"millrace/estimator"
	"millrace/estimator/checkpoint"
)

// Names of checkpoints for [Folder.Checkpoint].
const (
	Latest = "latest" // the newest
	Best   = "best"   // the best checkpoint by checkpoints.best of the config
)

// Checkpoint finds a checkpoint of a run and checks that it is whole. The name is
// Latest, Best, the prefix of a checkpoint's files, or a folder, whose newest
// checkpoint is meant. "" means the best, or the newest where none is the best.
func (f Folder) Checkpoint(name string) (*checkpoint.Checkpoint, error) {
	if name != "" && name != Latest && name != Best {
		prefix, err := checkpoint.Resolve(name)
		if err != nil {
			return nil, err
		}
		return checkpoint.LoadPrefix(prefix)
	}
	newest, _, err := checkpoint.Newest(f.Checkpoints())
	if err != nil {
		return nil, err
	}
	if newest == nil {
		return nil, noCheckpoint(f.Checkpoints(), "there is no checkpoint; train first, with millrace train")
	}
	step, ok := estimator.BestStep(newest)
	switch {
	case name == Latest || name == "" && !ok || ok && step == newest.Info.Step:
		return newest, nil
	case !ok:
		return nil, noCheckpoint(f.Checkpoints(), "no checkpoint is the best one; add checkpoints.best to the run config, or take the latest")
	}
	return checkpoint.Load(f.Checkpoints(), step)
}

func noCheckpoint(dir, msg string) error {
	e := millrace.Errorf(millrace.ErrCheckpoint, "%s", msg)
	e.File = dir
	return e
}

// describe names a checkpoint: "step 500", or its prefix if it has no step.
func describe(c *checkpoint.Checkpoint) string {
	if c.Info.SHA256 == "" {
		return millrace.Quote(c.Source())
	}
	return "step " + strconv.FormatInt(c.Info.Step, 10)
}
