package training

import (
	"encoding/json"
	"fmt"
	"slices"

	"millrace/dtype"
	"millrace/estimator/checkpoint"
)

// restore sets the variables, the step and the position from the newest checkpoint. Without
// one, the variables come from Options.Init, or keep the model's values.
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
	if err := t.subject.Values.Restore(c, t.subject.Values.Specs(), t.subject.Lock); err != nil {
		return err
	}
	t.step = c.Info.Step
	if err := json.Unmarshal(c.Info.State, &t.state); err != nil {
		return c.Errorf("damaged: %v", err)
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
		return c.Errorf("read the position in the data: %w", err)
	}
	defer checkpoint.CloseTensors(read)
	position, err := read[0].StringAt(0)
	if err != nil {
		return c.Errorf("read the position in the data: %w", err)
	}
	if position != "" {
		t.position = []byte(position)
	} else if !t.state.DataEnded {
		t.note("the position in this source was not saved: the training reads it from its start again")
	}
	return nil
}

// initialize takes the variables from Options.Init.
func (t *training) initialize() error {
	if t.o.Init == "" {
		return nil
	}
	report, err := t.subject.Initialize(t.o.Init, t.o.InitOptions) // the slots of an optimizer keep their initial values
	for _, line := range report {
		t.note("init: " + line)
	}
	return err
}
