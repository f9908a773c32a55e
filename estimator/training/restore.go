package training

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"millrace"
	"millrace/diag"
	"millrace/dtype"
	"millrace/estimator/checkpoint"
	"millrace/internal/base/figures"
)

// restore sets the variables, the step and the position from the newest checkpoint. Without
// one, the variables come from Options.Init, or keep the model's values.
func (t *training) restore() error {
	c, skipped, err := checkpoint.Newest(t.dir)
	if err != nil {
		return err
	}
	for _, damaged := range skipped {
		t.note(fmt.Sprintf("skipped: %v", damaged))
	}
	if c == nil && t.peers.keeps() {
		return nil
	}
	if c == nil {
		return t.initialize()
	}
	defer c.Close()
	changed := c.ChangedJob(t.job(), t.o.Parts)
	if err := c.RefuseChanges(changed, slices.Concat(t.o.AllowChanged, t.o.FreeKeys)); err != nil {
		return err
	}
	for _, change := range c.ChangedSettings(t.o.Settings) {
		t.note("the last bits of the result may differ: " + change.Text())
	}
	if !t.peers.keeps() {
		if err := t.restoreValues(c, changed); err != nil {
			return err
		}
	}
	t.step = c.Info.Step
	if err := json.Unmarshal(c.Info.State, &t.state); err != nil {
		return c.Errorf("damaged: %v", err)
	}
	t.state.Metrics = nil
	for _, change := range changed {
		t.note(fmt.Sprintf("the training continues although %s", change.Text()))
		if slices.Contains(t.o.DataKeys, change.Key) {
			t.state.DataEnded = false
			t.note("other data than before: it is read from its start")
			return nil
		}
	}
	return t.restorePosition(c)
}

// checkAllowed refuses names in Options.AllowChanged that are not keys of the job.
func (t *training) checkAllowed() error {
	keys := slices.Sorted(maps.Keys(t.job()))
	for _, name := range t.o.AllowChanged {
		if slices.Contains(keys, name) {
			continue
		}
		hint := diag.DidYouMean(name, keys)
		if hint == "" {
			hint = "what may be allowed is " + strings.Join(keys, ", ")
		}
		return millrace.Errorf(millrace.ErrConfig, "allow-changed: %s is not part of what a checkpoint is compared by; %s", millrace.QuoteData([]byte(name)), hint)
	}
	return nil
}

// If a resumed training has changed, what happens to the optimizer's slots? Slots in
// the checkpoint keep their values. Slots that the checkpoint lacks, of a variable that
// was not trained before or of another optimizer, begin as in a new training. Only the
// moving average of a variable begins with the variable's value. A changed learning
// rate in the options replaces one that a plateau has lowered.

// restoreValues sets the variables and the slots.
func (t *training) restoreValues(c *checkpoint.Checkpoint, changed []checkpoint.Change) error {
	specs := t.subject.Values.Specs()
	if len(changed) == 0 {
		return t.subject.Values.Restore(c, specs, t.subject.Lock)
	}
	averaged := map[string]string{}
	for variable, slot := range t.averages {
		averaged[slot] = variable
	}
	newRate := slices.ContainsFunc(changed, func(change checkpoint.Change) bool { return change.Key == LearningRateOutput })
	var begun []string
	for i, spec := range specs {
		if !slices.ContainsFunc(t.subject.Slots, func(v checkpoint.Variable) bool { return v.Name == spec.Name }) {
			continue
		}
		_, found := c.Tensor(spec.Name)
		switch {
		case found && !(newRate && strings.HasSuffix(spec.Name, "/"+LearningRateOutput)):
			continue
		case !found:
			begun = append(begun, spec.Name)
		}
		specs[i].Name = averaged[spec.Name]
	}
	if len(begun) > 0 {
		t.note(fmt.Sprintf("%s of the optimizer begin as in a new training: %s", figures.Of(int64(len(begun)), "slot"), listed(begun)))
	}
	return t.subject.Values.Restore(c, specs, t.subject.Lock)
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
