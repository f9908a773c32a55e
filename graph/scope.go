package graph

import (
	"errors"
	"fmt"
	"slices"

	"millrace"
	"millrace/graph/internal/unbuilt"
	"millrace/tfbridge"
)

// Scope adds operations to a graph, under a name prefix. [NewScope] makes one;
// nil and the zero value add nothing, and Err says why.
type Scope struct {
	graph    *tfbridge.Graph
	state    *state
	prefix   string // prefix of operation names: "" or ending in "/"
	controls []*tfbridge.Operation
	device   string
	values   *value
}

// value is an entry of [Scope.WithValue], linked to the entries before it.
type value struct {
	key, value any
	before     *value
}

// state is what all scopes of one graph share.
type state struct {
	err          error // the first failure
	finalized    bool
	names        names
	body         *body // nil unless the graph is the body of a function
	underivable  underivable
	session      tfbridge.Output // see Scope.session
	initializers []*tfbridge.Operation
	collections  map[string][]any
}

// NewScope returns a scope of a new graph. The caller closes the graph:
//
//	s := graph.NewScope()
//	defer s.Graph().Close()
func NewScope() *Scope {
	return NewScopeWithGraph(tfbridge.NewGraph())
}

// NewScopeWithGraph returns a scope that adds to a graph, which may already have
// operations, for example those of a loaded model. The caller keeps the graph.
func NewScopeWithGraph(g *tfbridge.Graph) *Scope {
	return newScope(g, nil)
}

func newScope(g *tfbridge.Graph, b *body) *Scope {
	return &Scope{graph: g, state: &state{names: names{}, body: b}}
}

// SubScope returns a scope of the same graph whose operation names begin with
// "name/". If that prefix is in use, it gets a number, so two calls return
// different prefixes.
func (s *Scope) SubScope(name string) *Scope {
	if s == nil || s.state == nil {
		return s
	}
	sub := *s
	sub.prefix = s.state.names.unique(s.graph, s.prefix+cleanName(name)) + "/"
	return &sub
}

// WithControlDependencies returns a scope of the same graph and prefix whose
// operations run after ops. Nil operations, as they are after an error, are
// ignored.
func (s *Scope) WithControlDependencies(ops ...*tfbridge.Operation) *Scope {
	if s == nil {
		return nil
	}
	sub := *s
	sub.controls = slices.Clone(s.controls)
	for _, op := range ops {
		if op != nil && !slices.Contains(sub.controls, op) {
			sub.controls = append(sub.controls, op)
		}
	}
	return &sub
}

// WithDevice returns a scope of the same graph and prefix whose operations are
// placed on a device, such as "/cpu:0".
func (s *Scope) WithDevice(device string) *Scope {
	if s == nil {
		return nil
	}
	sub := *s
	sub.device = device
	return &sub
}

// WithValue returns a scope of the same graph and prefix in which key has a value, as
// [context.WithValue] does. So have the scopes made from it, and those of functions'
// bodies. It is for packages that build operations differently where a program says so.
func (s *Scope) WithValue(key, v any) *Scope {
	if s == nil {
		return nil
	}
	sub := *s
	sub.values = &value{key: key, value: v, before: s.values}
	return &sub
}

// Value returns the value of a key in [Scope.WithValue], nil if there is none.
func (s *Scope) Value(key any) any {
	if s == nil {
		return nil
	}
	for v := s.values; v != nil; v = v.before {
		if v.key == key {
			return v.value
		}
	}
	return nil
}

// Err returns the first failure while building this graph, nil if there was none.
// After [Scope.Finalize] it returns an error that says so.
func (s *Scope) Err() error {
	if s == nil || s.state == nil {
		return millrace.Errorf(millrace.ErrModel, "the scope is nil or a zero value; NewScope makes one")
	}
	if s.state.err == nil && s.state.finalized {
		return millrace.Errorf(millrace.ErrModel, "the scope is finalized and cannot be used any more")
	}
	return s.state.err
}

// UpdateErr makes err the scope's failure unless err is nil or the scope already
// has one. op says what was being added.
func (s *Scope) UpdateErr(op string, err error) {
	if err == nil || s.Err() != nil {
		return
	}
	s.state.err = wrap(op, err)
}

// fail makes a new error the scope's failure.
func (s *Scope) fail(op, format string, args ...any) {
	s.UpdateErr(op, millrace.Errorf(millrace.ErrModel, format, args...))
}

// wrap adds to err what was being added. The result has the class of err, or
// ErrModel if err has none.
func wrap(op string, err error) error {
	var classed *millrace.Error
	if !errors.As(err, &classed) {
		return millrace.Errorf(millrace.ErrModel, "add %s: %w", op, err)
	}
	return fmt.Errorf("add %s: %w", op, err)
}

// Prefix returns the prefix of operation names: "" or a path that ends in a slash.
func (s *Scope) Prefix() string {
	if s == nil {
		return ""
	}
	return s.prefix
}

// Device returns the device of [Scope.WithDevice], "" if there is none.
func (s *Scope) Device() string {
	if s == nil {
		return ""
	}
	return s.device
}

// Graph returns the graph that the scope adds to, nil if there is none.
func (s *Scope) Graph() *tfbridge.Graph {
	if s == nil {
		return nil
	}
	return s.graph
}

// InFunction reports whether the scope builds the body of a function.
func (s *Scope) InFunction() bool { return s != nil && s.state != nil && s.state.body != nil }

// Finalize ends building and returns the graph, or the scope's failure. From then
// on the graph's scopes add nothing, and Err says why; to add more, make a scope
// with [NewScopeWithGraph]. Whoever made the graph closes it in either case.
func (s *Scope) Finalize() (*tfbridge.Graph, error) {
	if err := s.Err(); err != nil {
		return nil, err
	}
	s.state.finalized = true
	return s.graph, nil
}

// AddOperation adds an operation. Its name is the scope's prefix and the name of
// spec, or its type, made unique. The scope's device and control dependencies
// apply. Inputs that belong to a graph around a function's body are captured.
// AddOperation returns nil after a failure.
func (s *Scope) AddOperation(spec tfbridge.OpSpec) *tfbridge.Operation {
	if s.Err() != nil {
		return nil
	}
	what := spec.Type
	if spec.Name != "" {
		what = fmt.Sprintf("%s %q", spec.Type, spec.Name)
	}
	if !s.complete(what, &spec) {
		return nil
	}
	op, err := s.graph.AddOperation(spec)
	if err != nil {
		s.state.err = err // which says what was being added
		return nil
	}
	if s.state.body != nil && op.NumOutputs() == 0 {
		s.state.body.effects = append(s.state.body.effects, op)
	}
	return op
}

// complete fills in what the scope adds to a spec: the full name, captures,
// control dependencies and device.
func (s *Scope) complete(what string, spec *tfbridge.OpSpec) bool {
	inputs := make([]tfbridge.Input, len(spec.Input))
	for i, in := range spec.Input {
		var ok bool
		if inputs[i], ok = s.input(fmt.Sprintf("%s: input %d", what, i), in); !ok {
			return false
		}
	}
	spec.Input = inputs
	if spec.Type == "While" || spec.Type == "StatelessWhile" {
		spec.Attrs = lowered(spec.Attrs)
	}
	controls := slices.Concat(spec.ControlDependencies, s.controls)
	for i, op := range controls {
		if op == nil || op.Graph() != s.graph {
			s.fail(what, "control dependency %d is nil or of another graph", i)
			return false
		}
	}
	spec.ControlDependencies = controls
	if spec.Device == "" {
		spec.Device = s.device
	}
	if spec.Name == "" {
		spec.Name = spec.Type
	}
	spec.Name = s.state.names.unique(s.graph, s.prefix+cleanName(spec.Name))
	return true
}

// AddInitializer marks an operation as one that must run in every session before
// the rest of the graph, such as the one that fills a lookup table. Iterators of
// datasets and [Exec] run it by themselves. In a function's body there is none.
func (s *Scope) AddInitializer(op *tfbridge.Operation) {
	if s.Err() != nil || op == nil {
		return
	}
	if s.InFunction() {
		s.fail(op.Type(), "a function cannot initialize anything; do it outside of the function")
		return
	}
	s.state.initializers = append(s.state.initializers, op)
}

// Initializers returns the operations of [Scope.AddInitializer], for programs that
// make their own session. They are the targets of its first run.
func (s *Scope) Initializers() []*tfbridge.Operation {
	if s == nil || s.state == nil {
		return nil
	}
	return slices.Clone(s.state.initializers)
}

// AddToCollection keeps a value with the graph, under a key such as "queue_runners".
// It is for packages that add operations which a program asks for later.
// TensorFlow's runtime does not know collections. A function's body has none.
func (s *Scope) AddToCollection(key string, value any) {
	if s.Err() != nil {
		return
	}
	if s.InFunction() {
		s.fail(key, "a function's body has no collections; add it outside of the function")
		return
	}
	if s.state.collections == nil {
		s.state.collections = map[string][]any{}
	}
	s.state.collections[key] = append(s.state.collections[key], value)
}

// Collection returns the values of [Scope.AddToCollection], in the order in which
// they were added.
func (s *Scope) Collection(key string) []any {
	if s == nil || s.state == nil {
		return nil
	}
	return slices.Clone(s.state.collections[key])
}

// Op adds an operation named after its type and returns its outputs. After a failure
// it returns as many zero Outputs, or 1024 if neither the attributes nor the inputs say
// how many there would be, so that a program may index them.
func (s *Scope) Op(opType string, attrs map[string]any, inputs ...tfbridge.Input) []tfbridge.Output {
	return s.all(tfbridge.OpSpec{Type: opType, Attrs: attrs, Input: inputs})
}

// all adds an operation and returns its outputs, as Op does.
func (s *Scope) all(spec tfbridge.OpSpec) []tfbridge.Output {
	if op := s.AddOperation(spec); op != nil {
		return Outputs(op)
	}
	return unbuilt.OutputsOf(s.Graph(), spec)
}

// Op1 adds an operation named after its type and returns its first output,
// the zero Output after a failure.
func (s *Scope) Op1(opType string, attrs map[string]any, inputs ...tfbridge.Input) tfbridge.Output {
	return s.one(tfbridge.OpSpec{Type: opType, Attrs: attrs, Input: inputs})
}

// one adds an operation and returns its first output, the zero Output after a
// failure.
func (s *Scope) one(spec tfbridge.OpSpec) tfbridge.Output {
	op := s.AddOperation(spec)
	if op == nil || op.NumOutputs() == 0 {
		return tfbridge.Output{}
	}
	return op.Output(0)
}

// Outputs returns all outputs of an operation. For nil, which adding an operation gives
// after a failure, it returns 1024 zero Outputs, as [Scope.Op] does.
func Outputs(op *tfbridge.Operation) []tfbridge.Output {
	if op == nil {
		return unbuilt.Outputs(unbuilt.Many)
	}
	outputs := make([]tfbridge.Output, op.NumOutputs())
	for i := range outputs {
		outputs[i] = op.Output(i)
	}
	return outputs
}
