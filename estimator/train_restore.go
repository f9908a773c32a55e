package estimator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"millrace"
	"millrace/dtype"
	"millrace/estimator/checkpoint"
	"millrace/estimator/weights"
	"millrace/tfbridge"
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
	report, err := t.model.Initialize(t.o.Init, t.o.InitOptions) // the slots of an optimizer keep their initial values
	for _, line := range report {
		t.note("init: " + line)
	}
	return err
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

// Initialize sets variables of the model to weights from elsewhere: a SavedModel, a
// checkpoint of TensorFlow, a file of Keras or safetensors; see package weights. Nil
// options require a value for each variable. It returns what was taken and what was not,
// a line for each. Steps of the model wait meanwhile.
func (m *Model) Initialize(path string, o *weights.Options) (report []string, err error) {
	values, err := m.values(context.Background())
	if err != nil {
		return nil, err
	}
	all, err := checkpoint.Variables(m.model.Graph(), m.saved.Program())
	if err != nil {
		return nil, err
	}
	targets, at := targetsOf(m, all)
	source, err := weights.Open(path)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	match, err := weights.NewMatch(targets, source, o)
	if err != nil {
		return nil, err
	}
	m.variables.Lock()
	defer m.variables.Unlock()
	now, err := values.Read()
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrModel, "read the variables: %w", err)
	}
	defer closeTensors(now)
	for _, pair := range match.Taken {
		value, err := source.Read(pair.Tensor, targets[pair.Variable].DType)
		if err != nil {
			return nil, err
		}
		defer value.Close()
		for _, i := range at[pair.Variable] {
			now[i].Close()
			now[i] = value // closed with the others; closing twice does nothing
		}
	}
	if err := values.Assign(now); err != nil {
		return nil, millrace.Errorf(millrace.ErrModel, "set the variables: %w", err)
	}
	return match.Report(targets, source), nil
}

// Variables returns the values of the model's variables by their names in checkpoints,
// as of one moment between two steps. The caller closes them.
func (m *Model) Variables(ctx context.Context) (map[string]*tfbridge.Tensor, error) {
	values, err := m.values(ctx)
	if err != nil {
		return nil, err
	}
	m.variables.RLock()
	defer m.variables.RUnlock()
	read, err := values.Read()
	if err != nil {
		return nil, millrace.Errorf(millrace.ErrModel, "read the variables: %w", err)
	}
	named := map[string]*tfbridge.Tensor{}
	for i, spec := range values.Specs() {
		named[trimmed(spec.Name)] = read[i]
	}
	return named, nil
}

// targetsOf returns the variables that weights can be for, and for each the indices of
// the tensors that hold its value: Keras stores a variable under two names.
func targetsOf(m *Model, all []checkpoint.Variable) (targets []weights.Variable, at [][]int) {
	objects := m.saved.VariableObjects()
	byNode := map[string]int{}
	add := func(target, i int) {
		v := all[i]
		names := []string{trimmed(v.Name)}
		if object, ok := objects[v.Name]; ok && object.Name != "" {
			names = append(names, object.Name)
		}
		targets[target].Names = append(targets[target].Names, names...)
		at[target] = append(at[target], i)
	}
	for i, v := range all {
		if v.Half == checkpoint.NoTable && v.Wrapped.Op == nil {
			byNode[v.Handle.Op.Name()] = len(targets)
			targets, at = append(targets, weights.Variable{DType: v.DType, Shape: v.Shape}), append(at, nil)
			add(len(targets)-1, i)
			targets[len(targets)-1].Names = append(targets[len(targets)-1].Names, v.Handle.Op.Name())
		}
	}
	for i, v := range all {
		if v.Wrapped.Op != nil {
			if target, ok := byNode[v.Wrapped.Op.Name()]; ok {
				add(target, i)
			}
		}
	}
	return targets, at
}

// checkpointError is an error about a checkpoint.
func checkpointError(c *checkpoint.Checkpoint, format string, args ...any) error {
	e := millrace.Errorf(millrace.ErrCheckpoint, format, args...)
	e.File = c.Prefix
	return e
}
