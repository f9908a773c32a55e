package layers

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"millrace"
	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/graph/gradients"
	"millrace/tfbridge"
)

// Model describes a model to build.
type Model struct {
	Features []TensorSpec // inputs of all signatures; a first dimension of -1 is the batch
	Labels   []TensorSpec // further inputs of the signatures train and evaluate
	Function Function     // builds the model
	Seed     int64        // seed of initial values and dropout

	// Modes are the modes that the saved model is for; none: all. A model for Predict
	// alone needs neither loss nor optimizer: a run config or an estimator.Objective
	// trains it.
	Modes []Mode
}

// Function builds a model in the mode of a net, as the model function of TensorFlow's
// Estimator. It is called once for each of the model's modes. labels are nil in mode Predict. It must
// add the same layers in all modes.
type Function func(n *Net, features, labels Tensors) *Spec

// Spec is what a model function returns.
type Spec struct {
	Predictions Tensors             // outputs of all signatures; required
	Loss        tfbridge.Output     // a scalar, output "loss" of train and evaluate; required there
	Optimizer   optimizer.Optimizer // required in mode Train
	ClipNorm    float64             // see optimizer.ApplyOptions; 0: no clipping

	// Variables are the beginnings of the names of the variables to train, such as
	// "generator/"; nil: all that the loss depends on.
	Variables []string
	// Also are further losses, each trained by an optimizer of its own in the same step,
	// such as the one of a GAN's discriminator. All are computed from the values that the
	// variables have before the step, and no two may train the same variable.
	Also []Part
}

// Part is a loss with an optimizer of its own.
type Part struct {
	Name      string // the loss is an output of this name, of train; required
	Loss      tfbridge.Output
	Optimizer optimizer.Optimizer
	ClipNorm  float64  // see optimizer.ApplyOptions; 0: no clipping
	Variables []string // see Spec.Variables
}

// parts returns all losses, the first without a name.
func (spec *Spec) parts() []Part {
	return append([]Part{{Loss: spec.Loss, Optimizer: spec.Optimizer, ClipNorm: spec.ClipNorm, Variables: spec.Variables}}, spec.Also...)
}

// signature is inputs and outputs of one mode.
type signature struct {
	inputs, outputs Tensors
}

// built is a model in a graph.
type built struct {
	scope      *graph.Scope
	store      *store
	count      *Variable // the number of updates; nil for a model without mode Train
	signatures map[string]signature
}

// keys are the signatures, in the order in which they are built.
var keys = []struct {
	key  string
	mode Mode
}{{"train", Train}, {"evaluate", Evaluate}, {"serving_default", Predict}}

// build builds all modes in one graph.
func (m *Model) build(s *graph.Scope) (*built, error) {
	if m.Function == nil || len(m.Features) == 0 {
		return nil, millrace.Errorf(millrace.ErrConfig, "a model needs a function and features")
	}
	for _, mode := range m.Modes {
		if mode != Train && mode != Evaluate && mode != Predict {
			return nil, millrace.Errorf(millrace.ErrConfig, "a model has no mode %q; there are %q, %q and %q", mode, Train, Evaluate, Predict)
		}
	}
	b := &built{scope: s, store: &store{root: s, seed: m.Seed, byName: map[string]*Variable{}}, signatures: map[string]signature{}}
	if m.has(Train) {
		b.count = &Variable{Name: "iteration", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
		b.store.add(b.count, func(s *graph.Scope) tfbridge.Output { return s.Const(int64(0)) })
	}
	for _, k := range keys {
		if !m.has(k.mode) {
			continue
		}
		if err := b.mode(m, k.key, k.mode); err != nil {
			return nil, err
		}
	}
	return b, s.Err()
}

// has reports whether the model is for a mode.
func (m *Model) has(mode Mode) bool { return len(m.Modes) == 0 || slices.Contains(m.Modes, mode) }

// mode builds the model in one mode.
func (b *built) mode(m *Model, key string, mode Mode) error {
	s := b.scope.SubScope(key)
	n := &Net{Scope: s, Mode: mode, store: b.store, names: map[string]int{}, taken: map[string]bool{}}
	sig := signature{inputs: Tensors{}, outputs: Tensors{}}
	place := func(specs []TensorSpec) Tensors {
		tensors := Tensors{}
		for _, t := range specs {
			tensors[t.Name] = s.SubScope(t.Name).Placeholder(t.DType, t.Shape)
			sig.inputs[t.Name] = tensors[t.Name]
		}
		return tensors
	}
	features := place(m.Features)
	var labels Tensors
	if mode != Predict {
		labels = place(m.Labels)
	}
	if mode == Train {
		n.step = s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Int64}, b.count.handle)
	}
	spec := m.Function(n, features, labels)
	if s.Err() != nil {
		return s.Err()
	}
	if err := spec.check(mode); err != nil {
		return err
	}
	maps.Copy(sig.outputs, spec.Predictions)
	if mode != Predict {
		sig.outputs["loss"] = spec.Loss
	}
	if mode == Train {
		if err := b.train(n, spec, sig.outputs); err != nil {
			return err
		}
	}
	b.signatures[key] = sig
	return s.Err()
}

// check checks what a model function returned.
func (spec *Spec) check(mode Mode) error {
	switch {
	case spec == nil || len(spec.Predictions) == 0:
		return millrace.Errorf(millrace.ErrModel, "in mode %s the model function returns no predictions", mode)
	case mode != Predict && (spec.Loss.Op == nil || spec.Loss.Shape().NumDimensions() > 0):
		return millrace.Errorf(millrace.ErrModel, "in mode %s the model function returns no scalar loss", mode)
	case mode == Train && spec.Optimizer == nil:
		return millrace.Errorf(millrace.ErrModel, "in mode %s the model function returns no optimizer", mode)
	case mode == Train && slices.ContainsFunc(spec.Also, func(p Part) bool {
		return p.Name == "" || p.Name == "loss" || p.Optimizer == nil || p.Loss.Op == nil || p.Loss.Shape().NumDimensions() > 0
	}):
		return millrace.Errorf(millrace.ErrModel, "a further part of a step needs a name of its own, a scalar loss and an optimizer")
	case mode != Predict && spec.Predictions["loss"].Op != nil:
		return millrace.Errorf(millrace.ErrModel, "the predictions may not be called loss, as the loss is")
	}
	return nil
}

// train adds the updates of the variables. It opens what the function has built, so
// that loops keep what their derivatives need, and replaces outputs by the opened ones.
func (b *built) train(n *Net, spec *Spec, outputs Tensors) error {
	s, parts := n.Scope, spec.parts()
	for _, p := range parts[1:] {
		if outputs[p.Name].Op != nil {
			return millrace.Errorf(millrace.ErrModel, "two outputs are called %q", p.Name)
		}
		outputs[p.Name] = p.Loss
	}
	names := slices.Sorted(maps.Keys(outputs))
	var wanted []string
	for _, name := range names {
		wanted = append(wanted, outputs[name].String())
	}
	for _, c := range n.changes {
		wanted = append(wanted, c.value.String())
	}
	opened := gradients.Open(s, &gradients.OpenOptions{Outputs: wanted})
	if err := s.Err(); err != nil {
		return err
	}
	after := opened.Reads()
	for i, name := range names {
		outputs[name] = opened.Outputs[i]
		after = append(after, opened.Outputs[i].Op)
	}
	changed := opened.Outputs[len(names):]
	for _, o := range changed {
		after = append(after, o.Op)
	}
	done, err := b.updates(s, parts, outputs, &opening{opened, after})
	if err != nil {
		return err
	}
	late := s.WithControlDependencies(after...)
	for i, c := range n.changes {
		done = append(done, late.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{c.variable.handle, changed[i]}}))
	}
	outputs["loss"] = graph.Identity(s.WithControlDependencies(done...), outputs["loss"])
	return s.Err()
}

// opening is a model function's graph that was opened, and what must be finished before a
// variable changes.
type opening struct {
	*gradients.Opened
	after []*tfbridge.Operation
}

// updates adds the updates of all parts. The derivatives of all are computed from the values
// that the variables have before the step.
func (b *built) updates(s *graph.Scope, parts []Part, outputs Tensors, o *opening) ([]*tfbridge.Operation, error) {
	type pending struct {
		pairs   []optimizer.Gradient
		scaling *optimizer.Scaling
	}
	var all []pending
	trained := map[string]string{}
	for _, p := range parts {
		loss := outputs[cmp.Or(p.Name, "loss")]
		scaling := optimizer.NewScaling(s, p.Optimizer)
		pairs := b.gradients(o.Opened, scaling.Loss(s, loss), p.Variables)
		if s.Err() != nil || len(pairs) == 0 {
			s.UpdateErr("train", millrace.Errorf(millrace.ErrModel, "the loss %q depends on no variable that can be trained", cmp.Or(p.Name, "loss")))
			return nil, s.Err()
		}
		for i := range pairs {
			name := pairs[i].Variable.Name
			if other, ok := trained[name]; ok {
				return nil, millrace.Errorf(millrace.ErrModel, "the losses %q and %q both train the variable %q; say with Variables which of them does",
					other, cmp.Or(p.Name, "loss"), name)
			}
			trained[name] = cmp.Or(p.Name, "loss")
			pairs[i].Value = scaling.Unscale(s, pairs[i].Value)
		}
		all = append(all, pending{pairs, scaling})
	}
	var done []*tfbridge.Operation
	for i, p := range parts {
		count, rate := b.count, "learning_rate"
		if i > 0 {
			count = &Variable{Name: p.Name + "/iteration", DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
			b.store.add(count, func(s *graph.Scope) tfbridge.Output { return s.Const(int64(0)) })
			rate = p.Name + "_learning_rate"
		}
		update := optimizer.Apply(s, p.Optimizer, count.handle, all[i].pairs, &optimizer.ApplyOptions{ClipNorm: p.ClipNorm, After: o.after, Scaling: all[i].scaling})
		if update == nil {
			return nil, s.Err()
		}
		outputs[rate] = update.LearningRate
		if err := b.slots(update); err != nil {
			return nil, err
		}
		done = append(done, update.Op)
	}
	return done, nil
}

// gradients returns the derivatives of a loss for the variables on which it depends, if
// their names begin with one of the prefixes.
func (b *built) gradients(opened *gradients.Opened, loss tfbridge.Output, beginnings []string) []optimizer.Gradient {
	var trained []gradients.Variable
	for _, v := range opened.Variables {
		wanted := beginnings == nil || slices.ContainsFunc(beginnings, func(p string) bool { return strings.HasPrefix(v.Name, p) })
		if own := b.store.byName[v.Name]; own != nil && own.Trainable && v.Trainable() && wanted {
			trained = append(trained, v)
		}
	}
	var pairs []optimizer.Gradient
	for i, d := range opened.Gradients([]tfbridge.Output{loss}, trained, nil) {
		if v := trained[i]; d.Value.Op != nil {
			own := optimizer.Variable{Name: v.Name, Handle: v.Handle, DType: v.DType, Shape: v.Shape}
			pairs = append(pairs, optimizer.Gradient{Variable: own, Value: d.Value, Indices: d.Indices})
		}
	}
	return pairs
}

// slots makes the optimizer's slots variables of the model, so that they are saved.
func (b *built) slots(update *optimizer.Update) error {
	s := b.scope
	for _, slot := range update.Slots {
		sub := s.SubScope(slot.Name)
		v := &Variable{Name: slot.Name, DType: slot.DType, Shape: slot.Shape, handle: slot.Handle}
		initial := graph.Fill(sub, dims(sub, slot.Shape.Dims()), graph.Cast(sub, sub.Const(float32(slot.Initial)), slot.DType))
		v.initial = graph.Identity(sub, initial)
		v.assign = sub.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Name: "Assign", Input: []tfbridge.Input{v.handle, v.initial}})
		v.read = sub.Op1("ReadVariableOp", map[string]any{"dtype": v.DType}, v.handle)
		b.store.all = append(b.store.all, v)
	}
	return s.Err()
}
