package estimator

import (
	"context"
	"fmt"

	"millrace"
	"millrace/estimator/checkpoint"
	"millrace/estimator/internal/varname"
	"millrace/estimator/weights"
	"millrace/graph"
	"millrace/tfbridge"
)

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
	defer c.Close()
	return m.RestoreChecked(c)
}

// RestoreChecked is Restore for a checkpoint that was already read. If the training
// kept moving averages of the variables, it sets the variables to these.
func (m *Model) RestoreChecked(c *checkpoint.Checkpoint) error {
	values, err := m.values(context.Background())
	if err != nil {
		return err
	}
	return values.Restore(c, c.Weights(values.Specs()), &m.variables)
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
	defer checkpoint.CloseTensors(now)
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
		named[varname.Trimmed(spec.Name)] = read[i]
	}
	return named, nil
}

// targetsOf returns the variables that can get weights, and for each the indices of the
// tensors that hold its value: Keras stores a variable under two names.
func targetsOf(m *Model, all []checkpoint.Variable) (targets []weights.Variable, at [][]int) {
	objects := m.saved.VariableObjects()
	byNode := map[string]int{}
	add := func(target, i int) {
		v := all[i]
		names := []string{varname.Trimmed(v.Name)}
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

// values returns the reader and writer of the model's variables, which the first call
// makes.
func (m *Model) values(ctx context.Context) (*checkpoint.Values, error) {
	if err := m.lockGraph(ctx); err != nil {
		return nil, err
	}
	defer m.unlockGraph()
	if m.access != nil {
		return m.access, nil
	}
	var err error
	m.access, err = m.newValues("millrace_checkpoint", nil)
	return m.access, err
}

// valuesWith is values with additional variables that do not belong to the model.
func (m *Model) valuesWith(ctx context.Context, more []checkpoint.Variable) (*checkpoint.Values, error) {
	if len(more) == 0 {
		return m.values(ctx)
	}
	if err := m.lockGraph(ctx); err != nil {
		return nil, err
	}
	defer m.unlockGraph()
	return m.newValues(fmt.Sprintf("millrace_checkpoint_%d", m.joined), more)
}

// newValues adds the operations to the graph, which is locked.
func (m *Model) newValues(scope string, more []checkpoint.Variable) (*checkpoint.Values, error) {
	variables, err := checkpoint.Variables(m.model.Graph(), m.saved.Program())
	if err != nil {
		return nil, err
	}
	s := graph.NewScopeWithGraph(m.model.Graph()).SubScope(scope)
	return checkpoint.NewValues(s, m.model.Session(), append(variables, more...))
}
