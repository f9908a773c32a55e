package estimator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"millrace"
	"millrace/dtype"
	"millrace/estimator/checkpoint"
)

// restore sets the variables, the step and the position from the newest checkpoint. Without
// one, the variables come from TrainOptions.Init, or keep the model's values.
func (t *training) restore() error {
	c, skipped, err := checkpoint.Newest(t.store.Dir())
	if err != nil {
		return err
	}
	for _, damaged := range skipped {
		t.note(fmt.Sprintf("skipped: %v", damaged))
	}
	if c == nil {
		return t.initialize()
	}
	changed := c.ChangedJob(t.job())
	if err := c.RefuseChanges(changed, t.o.AllowChanged); err != nil {
		return err
	}
	for _, change := range c.ChangedSettings(t.o.Settings) {
		t.note("the last bits of the result may differ: " + change.Text())
	}
	if err := t.model.restore(t.values, c); err != nil {
		return err
	}
	t.step = c.Info.Step
	if err := json.Unmarshal(c.Info.State, &t.state); err != nil {
		return checkpointError(c, "damaged: %v", err)
	}
	t.state.Metrics = nil
	for _, change := range changed {
		t.note(fmt.Sprintf("the training goes on although %s", change.Text()))
		if slices.Contains(t.o.DataKeys, change.Key) {
			t.state.DataEnded = false
			t.note("other data than before: it is read from its start")
			return nil
		}
	}
	return t.restorePosition(c)
}

// restorePosition reads the position in the data.
func (t *training) restorePosition(c *checkpoint.Checkpoint) error {
	read, err := checkpoint.ReadTensors(c.Prefix, []dtype.TensorSpec{{Name: positionName, DType: dtype.String}})
	if err != nil {
		return checkpointError(c, "read the position in the data: %w", err)
	}
	defer closeTensors(read)
	position, err := read[0].StringAt(0)
	if err != nil {
		return checkpointError(c, "read the position in the data: %w", err)
	}
	if position != "" {
		t.position = []byte(position)
	} else if !t.state.DataEnded {
		t.note("the position in this source was not saved: the training reads it from its start again")
	}
	return nil
}

// initialize takes the variables from TrainOptions.Init.
func (t *training) initialize() error {
	if t.o.Init == "" {
		return nil
	}
	prefix, err := checkpoint.Resolve(t.o.Init)
	if err != nil {
		return err
	}
	c, err := checkpoint.LoadPrefix(prefix)
	if err != nil {
		return err
	}
	return t.model.RestoreChecked(c) // the slots of an optimizer keep their initial values
}

// Restore sets the model's variables from a checkpoint, written by Millrace or by Python's
// tf.train.Checkpoint. path is the prefix of its files, or a folder, whose newest
// checkpoint is used. The checkpoint must have all of the model's variables. Steps of the
// model wait meanwhile.
func (m *Model) Restore(path string) error {
	prefix, err := checkpoint.Resolve(path)
	if err != nil {
		return err
	}
	c, err := checkpoint.LoadPrefix(prefix)
	if err != nil {
		return err
	}
	return m.RestoreChecked(c)
}

// RestoreChecked is Restore for a checkpoint that was read. Where the training kept
// moving averages of the variables, they are what it sets.
func (m *Model) RestoreChecked(c *checkpoint.Checkpoint) error {
	values, err := m.values(context.Background())
	if err != nil {
		return err
	}
	return m.restoreFrom(values, c, c.Weights(values.Specs()))
}

// restore sets the variables from a checked checkpoint.
func (m *Model) restore(values *checkpoint.Values, c *checkpoint.Checkpoint) error {
	return m.restoreFrom(values, c, values.Specs())
}

// restoreFrom sets the variables from the tensors of a checkpoint that specs names, in
// the order of the values.
func (m *Model) restoreFrom(values *checkpoint.Values, c *checkpoint.Checkpoint, specs []dtype.TensorSpec) error {
	if err := c.Match(specs); err != nil {
		return err
	}
	read, err := checkpoint.ReadTensors(c.Prefix, specs)
	if err != nil {
		return checkpointError(c, "read the variables: %w", err)
	}
	defer closeTensors(read)
	m.variables.Lock()
	defer m.variables.Unlock()
	if err := values.Assign(read); err != nil {
		return checkpointError(c, "set the variables: %w", err)
	}
	return nil
}

// checkpointError is an error about a checkpoint.
func checkpointError(c *checkpoint.Checkpoint, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrCheckpoint, format, args...)
	e.File = c.Prefix
	return e
}
