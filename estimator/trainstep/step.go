package trainstep

import (
	"maps"
	"slices"

	"millrace"
	"millrace/estimator/losses"
	"millrace/estimator/optimizer"
	"millrace/graph"
	"millrace/graph/gradients"
	"millrace/tfbridge"
)

// Options are the options of a training step. The zero value of a field that is not
// required means the default.
type Options struct {
	// Feeds are the signature's inputs by the names of their tensors in the graph,
	// "node:0"; required unless the signature has none.
	Feeds map[string]tfbridge.Output
	// Outputs are the names of the tensors of the signature's outputs, by the names
	// of the outputs; required.
	Outputs map[string]string

	Loss            *losses.Loss        // required
	Predictions     string              // the output that the loss is of; "": the only one
	Labels, Weights tfbridge.Output     // Weights may be unset
	Weight          float64             // the loss counts this many times; 0: once
	More            []Term              // further losses, which are added to the first
	Optimizer       optimizer.Optimizer // required
	ClipNorm        float64             // see optimizer.ApplyOptions; 0: no clipping
	L2              float64             // the loss grows by this times the sum of the squares of all trained variables; 0: none
	Seed            int64               // seeds random operations of the signature to which the model gives no seed

	Replica *Replica // this process among those that train together; nil: it trains alone
	Servers *Servers // parameter servers that hold the variables; nil: there are none

	// Select reports whether to train a variable; nil: all variables. Only variables of
	// floating point on which the loss depends are trained.
	Select func(v gradients.Variable) bool
	// Names returns names of a variable, the best one first. The names of its slots
	// are made of the first one that no other trained variable has before it; nil:
	// Variable.Name.
	Names func(v gradients.Variable) []string
}

// Term is one of several losses.
type Term struct {
	Loss            *losses.Loss    // required
	Predictions     string          // the output that the loss is of; required
	Labels, Weights tfbridge.Output // Weights may be unset, and Labels of a loss that needs none
	Weight          float64         // the loss counts this many times; 0: once
}

// terms returns all losses.
func (o *Options) terms(predictions string) []Term {
	return append([]Term{{o.Loss, predictions, o.Labels, o.Weights, o.Weight}}, o.More...)
}

// Step is a step of training.
type Step struct {
	Outputs   map[string]tfbridge.Output // outputs of the signature, before the update
	Loss      tfbridge.Output            // a scalar, before the update: the sum of Losses, weighted, and of penalties
	Losses    []tfbridge.Output          // scalars: the losses, unweighted, in the order of Options
	Variables []gradients.Variable       // the trained variables
	Names     []string                   // names of Variables, all different, from which the slots have theirs
	Gradients []tfbridge.Output          // gradients of the loss with respect to Variables, of their shapes
	Update    *optimizer.Update          // the optimizer's part of the step
	Count     optimizer.Variable         // an int64 scalar: the number of updates so far
	Op        *tfbridge.Operation        // changes the variables, after everything above
	Reset     *tfbridge.Operation        // sets Count and Drawn to 0 and all slots to their initial values

	// Changes are the variables that the signature itself changes, such as the moving
	// statistics of a batch normalization. Op assigns them.
	Changes []gradients.Change
	// Opened are all variables that the signature reads or changes.
	Opened []gradients.Variable
	// Drawn is an int64 scalar, the number of steps so far, that random operations of the
	// signature follow; its Handle is unset if there are none.
	Drawn optimizer.Variable
	// WorkerSeconds are the seconds that each process of a Replica took for its own
	// derivatives, by rank: float32. Unset for a process that trains alone.
	WorkerSeconds tfbridge.Output
	// Updates and Stop are int64 scalars of a training with Servers: the steps of all
	// processes so far, with this one, and 1 when the training is to end. Unset without.
	Updates, Stop tfbridge.Output
	// Unrepeatable are random operations whose state no checkpoint has, by name.
	Unrepeatable []string
}

// Add adds a step of training to a scope whose graph holds the signature. All outputs
// of the step are computed from the values that the variables have before the update.
//
// An operation on the way from the variables to the loss that has no derivative is a
// failure that names it, and so is a loss that depends on no variable. A failure is
// the scope's, of class ErrModel or, for a wrong option, ErrConfig; Add then returns
// nil.
func Add(s *graph.Scope, o *Options) *Step {
	if s.Err() != nil {
		return nil
	}
	b := &builder{s: s, o: o, names: slices.Sorted(maps.Keys(o.Outputs)), step: &Step{Outputs: map[string]tfbridge.Output{}}}
	if o.Servers != nil {
		b.s = optimizer.WithShared(s, o.Servers.Device)
	}
	for _, add := range []func() error{b.check, b.shareBatch, b.open, b.loss, b.train, b.update} {
		err := add()
		if err == nil {
			err = s.Err()
		}
		if err != nil {
			s.UpdateErr("a step of training", err)
			return nil
		}
	}
	return b.step
}

// builder adds a step of training.
type builder struct {
	s           *graph.Scope
	o           *Options
	names       []string // names of the outputs
	predictions string
	opened      *gradients.Opened
	drawn       *tfbridge.Operation  // reads the step's Drawn
	gradients   []gradients.Gradient // gradients with respect to the step's variables
	scaling     *optimizer.Scaling   // nil: the loss is not scaled
	part        share                // the replica's part of the batch
	step        *Step
}

// check checks the options.
func (b *builder) check() error {
	o := b.o
	b.predictions = o.Predictions
	if o.Predictions == "" && len(b.names) == 1 {
		b.predictions = b.names[0]
	}
	_, ok := o.Outputs[b.predictions]
	switch {
	case o.Loss == nil || o.Optimizer == nil:
		return millrace.Errorf(millrace.ErrConfig, "a loss and an optimizer are required")
	case !ok:
		return millrace.Errorf(millrace.ErrModel, "there is no output %q to be the predictions; there are %q", b.predictions, b.names)
	case slices.ContainsFunc(o.More, func(t Term) bool { return t.Loss == nil || o.Outputs[t.Predictions] == "" }):
		return millrace.Errorf(millrace.ErrModel, "each further loss needs a loss and an output to be the predictions; there are %q", b.names)
	case o.L2 < 0:
		return millrace.Errorf(millrace.ErrConfig, "l2 is %v; it must not be negative", o.L2)
	}
	return nil
}

// open opens the signature.
func (b *builder) open() error {
	var tensors []string
	for _, name := range b.names {
		tensors = append(tensors, b.o.Outputs[name])
	}
	b.step.Drawn = b.counter("random", "random/steps")
	drawn := b.s.Op1("ReadVariableOp", map[string]any{"dtype": tfbridge.Int64}, b.step.Drawn.Handle)
	b.opened = gradients.Open(b.s, &gradients.OpenOptions{
		Feeds: b.o.Feeds, Outputs: tensors, Random: &gradients.Random{Step: drawn, Seed: b.o.replicaSeed()},
	})
	if err := b.s.Err(); err != nil {
		return err
	}
	b.drawn = drawn.Op
	b.step.Changes, b.step.Opened, b.step.Unrepeatable = b.opened.Changes, b.opened.Variables, b.opened.Unrepeatable
	for i, name := range b.names {
		b.step.Outputs[name] = b.opened.Outputs[i]
	}
	return nil
}

// counter returns a variable that counts.
func (b *builder) counter(scope, name string) optimizer.Variable {
	s := b.s.SubScope(scope)
	attrs := map[string]any{"dtype": tfbridge.Int64, "shape": tfbridge.ScalarShape(), "shared_name": s.Prefix() + "count"}
	return optimizer.Variable{Name: name, Handle: optimizer.Shared(s).Op1("VarHandleOp", attrs), DType: tfbridge.Int64, Shape: tfbridge.ScalarShape()}
}

// loss adds the losses, without the squares of the variables.
func (b *builder) loss() (err error) {
	b.step.Loss, b.step.Losses, err = Sum(b.s, b.o.terms(b.predictions), b.step.Outputs)
	return err
}

// Sum adds losses of outputs and returns their weighted sum and each of them, unweighted.
// All are scalars.
func Sum(s *graph.Scope, terms []Term, outputs map[string]tfbridge.Output) (total tfbridge.Output, each []tfbridge.Output, err error) {
	var weighted tfbridge.OutputList
	for _, term := range terms {
		value := term.Loss.Add(s, losses.Values{Labels: term.Labels, Predictions: outputs[term.Predictions], Weights: term.Weights})
		if err := s.Err(); err != nil {
			return tfbridge.Output{}, nil, err
		}
		if value.Shape().NumDimensions() > 0 {
			return tfbridge.Output{}, nil, millrace.Errorf(millrace.ErrConfig, "the loss has the shape %v; it must be reduced to one number", value.Shape())
		}
		each = append(each, value)
		if term.Weight != 0 && term.Weight != 1 {
			value = graph.Mul(s, value, graph.Cast(s, s.Const(term.Weight), value.DataType()))
		}
		if len(weighted) > 0 {
			value = graph.Cast(s, value, weighted[0].DataType())
		}
		weighted = append(weighted, value)
	}
	if len(weighted) == 1 {
		return weighted[0], each, nil
	}
	return s.Op1("AddN", nil, weighted), each, s.Err()
}

// train adds the derivatives and determines the variables to train.
func (b *builder) train() error {
	var wanted []gradients.Variable
	for _, v := range b.opened.Variables {
		if v.Trainable() && (b.o.Select == nil || b.o.Select(v)) {
			wanted = append(wanted, v)
		}
	}
	for _, c := range b.opened.Changes {
		if c.Assigned == nil && slices.ContainsFunc(wanted, func(v gradients.Variable) bool { return v.Node == c.Variable.Node }) {
			return millrace.Errorf(millrace.ErrModel,
				"the signature itself changes the variable %q, in a condition or a loop, so its derivative is not known; leave it out of the variables to train, or assign it outside", c.Variable.Name)
		}
	}
	b.scaling = optimizer.NewScaling(b.s, b.o.Optimizer)
	found := b.opened.Gradients([]tfbridge.Output{b.scaling.Loss(b.s, b.step.Loss)}, wanted, nil)
	if b.s.Err() != nil {
		return nil
	}
	for i, d := range found {
		if d.Value.Op != nil {
			d.Value = b.scaling.Unscale(b.s, d.Value)
			b.step.Variables = append(b.step.Variables, wanted[i])
			b.gradients = append(b.gradients, d)
		}
	}
	if len(b.step.Variables) == 0 {
		return millrace.Errorf(millrace.ErrModel,
			"there is nothing to train: %d variables are to be trained, and the loss of output %q depends on none of them, or only through operations that are constant, such as ArgMax",
			len(wanted), b.predictions)
	}
	if b.o.L2 > 0 {
		b.addL2()
	}
	if err := b.reduce(); err != nil {
		return err
	}
	for i, d := range b.gradients {
		b.step.Gradients = append(b.step.Gradients, d.Dense(b.s, b.step.Variables[i]))
	}
	return nil
}

// addL2 adds l2 * w² to the loss for each variable w, and 2 * l2 * w to its
// derivative, as keras.regularizers.L2.
func (b *builder) addL2() {
	terms := tfbridge.OutputList{b.step.Loss}
	dt := b.step.Loss.DataType()
	for i, v := range b.step.Variables {
		factor := graph.Cast(b.s, b.s.Const(b.o.L2), v.DType)
		value := b.last(v)
		squares := graph.Mul(b.s, factor, graph.ReduceSum(b.s, b.s.Op1("Square", nil, value)))
		terms = append(terms, graph.Cast(b.s, squares, dt))
		twice := graph.Mul(b.s, graph.Add(b.s, factor, factor), value)
		b.gradients[i] = gradients.Gradient{Value: graph.Add(b.s, b.gradients[i].Dense(b.s, v), twice)}
	}
	b.step.Loss = b.s.Op1("AddN", nil, terms)
}

// last returns the value that a variable has before the optimizer changes it: the one that the
// signature assigns, or the one that it reads.
func (b *builder) last(v gradients.Variable) tfbridge.Output {
	for _, c := range b.opened.Changes {
		if c.Variable.Node == v.Node {
			return c.Value
		}
	}
	return v.Value
}

// variableNames returns a name for each trained variable, all different.
func (b *builder) variableNames() []string {
	taken := map[string]bool{}
	var chosen []string
	for _, v := range b.step.Variables {
		candidates := []string{v.Name}
		if b.o.Names != nil {
			candidates = b.o.Names(v)
		}
		candidates = append(candidates, v.Node)
		free := slices.IndexFunc(candidates, func(name string) bool { return name != "" && !taken[name] })
		name := candidates[max(free, 0)]
		taken[name] = true
		chosen = append(chosen, name)
	}
	return chosen
}

// update adds the optimizer.
func (b *builder) update() error {
	var pairs []optimizer.Gradient
	names := b.variableNames()
	b.step.Names = names
	for i, v := range b.step.Variables {
		name := names[i]
		trained := optimizer.Variable{Name: name, Handle: v.Handle, DType: v.DType, Shape: v.Shape}
		pairs = append(pairs, optimizer.Gradient{Variable: trained, Value: b.gradients[i].Value, Indices: b.gradients[i].Indices})
	}
	b.step.Count = b.counter("iteration", b.o.Optimizer.Name()+"/iteration")
	after := append(b.opened.Reads(), b.step.Loss.Op)
	for _, name := range b.names {
		after = append(after, b.step.Outputs[name].Op)
	}
	assigned := b.opened.Assign(b.s, after...)
	b.step.Update = optimizer.Apply(b.s, b.o.Optimizer, b.step.Count.Handle, pairs, &optimizer.ApplyOptions{
		ClipNorm: b.o.ClipNorm, After: slices.Concat(after, b.assignedToTrained(assigned)), Scaling: b.scaling,
	})
	if b.step.Update == nil {
		return b.s.Err()
	}
	changed := append(assigned, b.step.Update.Op)
	reset := []*tfbridge.Operation{b.set(b.step.Count, 0), b.step.Update.Initialize}
	if b.opened.Random {
		later := b.s.WithControlDependencies(append(after, b.drawn)...)
		changed = append(changed, later.AddOperation(tfbridge.OpSpec{
			Type: "AssignAddVariableOp", Input: []tfbridge.Input{b.step.Drawn.Handle, b.s.Const(int64(1))},
		}))
		reset = append(reset, b.set(b.step.Drawn, 0))
	} else {
		b.step.Drawn.Handle = tfbridge.Output{}
	}
	if b.o.Servers != nil {
		changed = append(changed, b.countTogether(changed))
	}
	b.step.Op, b.step.Reset = graph.NoOp(b.s, changed...), graph.NoOp(b.s, reset...)
	return nil
}

// assignedToTrained returns those assignments of the signature that set trained variables, in the
// order of the changes: the optimizer changes what they set.
func (b *builder) assignedToTrained(assigned []*tfbridge.Operation) (ops []*tfbridge.Operation) {
	for i, c := range b.opened.Changes {
		if i < len(assigned) && slices.ContainsFunc(b.step.Variables, func(v gradients.Variable) bool { return v.Node == c.Variable.Node }) {
			ops = append(ops, assigned[i])
		}
	}
	return ops
}

// set adds an operation that sets a counter.
func (b *builder) set(v optimizer.Variable, value int64) *tfbridge.Operation {
	return b.s.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Input: []tfbridge.Input{v.Handle, b.s.Const(value)}})
}
