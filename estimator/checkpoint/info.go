package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"millrace"
	"millrace/remote"
	"millrace/savedmodel"
)

// Info is the content of ckpt-STEP.json, the description of a checkpoint. If that file
// exists, the other files of the checkpoint are complete.
type Info struct {
	Step   int64  `json:"step"`
	SHA256 string `json:"index_sha256"` // digest of ckpt-STEP.index, which has the checksums of all tensors
	Bytes  int64  `json:"bytes"`        // size of all tensors

	// Job identifies the training: the digests of the model and of the data, and of
	// everything else that decides the result of a step. A training with another job is
	// refused.
	Job map[string]string `json:"job,omitempty"`
	// Parts has the values from which those of Job were computed, for messages about
	// the differences between two jobs.
	Parts map[string]map[string]string `json:"parts,omitempty"`
	// Settings decide the last bits of the result of a step: the versions and modes of
	// TensorFlow. Different ones give a warning.
	Settings map[string]string `json:"settings,omitempty"`
	// Averages names, for each variable that has one, the slot with its moving average.
	Averages map[string]string `json:"averages,omitempty"`
	// State is the training's own: counts, and the best checkpoint.
	State json.RawMessage `json:"state,omitempty"`
}

// base begins the names of a checkpoint's files.
func base(step int64) string { return fmt.Sprintf("ckpt-%d", step) }

// infoName matches the name of an Info.
var infoName = regexp.MustCompile(`^ckpt-(0|[1-9][0-9]{0,18})\.json$`)

// Steps returns the steps that have a complete checkpoint in dir, from the
// oldest to the newest. A missing folder has none. The URL of a store may stand
// for dir, here and in the functions below.
func Steps(dir string) ([]int64, error) {
	names, err := namesIn(dir)
	if err != nil {
		return nil, err
	}
	var steps []int64
	for _, name := range names {
		if m := infoName.FindStringSubmatch(name); m != nil {
			if step, err := strconv.ParseInt(m[1], 10, 64); err == nil {
				steps = append(steps, step)
			}
		}
	}
	slices.Sort(steps)
	return steps, nil
}

// Checkpoint is a complete and undamaged checkpoint.
type Checkpoint struct {
	*savedmodel.Checkpoint
	Info Info
}

// Errorf returns an error of class ErrCheckpoint about the checkpoint.
func (c *Checkpoint) Errorf(format string, args ...any) *millrace.Error {
	e := millrace.Errorf(millrace.ErrCheckpoint, format, args...)
	e.File = c.Source()
	return e
}

// Load checks the checkpoint of a step in dir: whether its files are the ones that were
// written, and every tensor matches its checksum.
func Load(dir string, step int64) (*Checkpoint, error) {
	name := remote.Join(dir, base(step)+".json")
	text, err := readText(name)
	if err != nil {
		return nil, failure(name, "read", err)
	}
	c := &Checkpoint{}
	if err := json.Unmarshal(text, &c.Info); err != nil {
		return nil, refusal(name, "damaged: %v", err)
	}
	if c.Info.Step != step {
		return nil, refusal(name, "damaged: it says step %d", c.Info.Step)
	}
	if c.Checkpoint, err = readIndex(remote.Join(dir, base(step))); err != nil {
		return nil, err
	}
	if c.SHA256 != c.Info.SHA256 {
		return nil, refusal(c.Source()+".index", "another file than the one that was written: its SHA-256 is %s, not %s", c.SHA256, c.Info.SHA256)
	}
	return c, nil
}

// LoadPrefix checks a checkpoint of Python's or Millrace's by the prefix of its
// files. A checkpoint of Python's has no Info but zeros.
func LoadPrefix(prefix string) (*Checkpoint, error) {
	read, err := readIndex(prefix)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Checkpoint: read}
	if text, err := readText(c.Prefix + ".json"); err == nil && json.Unmarshal(text, &c.Info) != nil {
		c.Info = Info{}
	}
	return c, nil
}

// readIndex is [savedmodel.ReadCheckpoint] with errors of class ErrCheckpoint.
func readIndex(prefix string) (*savedmodel.Checkpoint, error) {
	c, err := savedmodel.ReadCheckpoint(prefix)
	if e, ok := err.(*millrace.Error); ok {
		e.Class, e.Op = millrace.ErrCheckpoint, "checkpoint"
		return nil, e
	}
	return c, err
}

// Newest returns the newest whole checkpoint in dir, nil if there is none at
// all. Skipped are the errors of newer ones that are damaged. If all are
// damaged, the error is of class ErrCheckpoint and says why for each.
func Newest(dir string) (c *Checkpoint, skipped []error, err error) {
	steps, err := Steps(dir)
	if err != nil {
		return nil, nil, err
	}
	if marked, ok := markedStep(dir); ok && !slices.Contains(steps, marked) {
		skipped = append(skipped, refusal(dir, "the checkpoint of step %d, which the file %q names, is gone", marked, markerName))
	}
	for _, step := range slices.Backward(steps) {
		c, err := Load(dir, step)
		if err == nil {
			return c, skipped, nil
		}
		skipped = append(skipped, err)
	}
	if len(skipped) > 0 {
		return nil, nil, errors.Join(append(skipped, refusal(dir, "no checkpoint is whole; to train from the start, remove the folder"))...)
	}
	return nil, nil, nil
}
