package layers

import (
	"fmt"

	"millrace"
	"millrace/dtype"
	"millrace/graph"
	"millrace/tfbridge"
)

// Mode is what a model function builds a model for.
type Mode string

// The modes, with their names in TensorFlow's Estimator.
const (
	Train    Mode = "train"
	Evaluate Mode = "eval"
	Predict  Mode = "infer"
)

// TensorSpec is name, data type and shape of a tensor.
type TensorSpec = dtype.TensorSpec

// Tensors are tensors by name.
type Tensors map[string]tfbridge.Output

// Net is a model that is being built in one mode. It embeds the scope that layers
// add to.
type Net struct {
	*graph.Scope
	Mode Mode

	store   *store
	names   map[string]int // how many layers of each type there are
	taken   map[string]bool
	changes []change // updates of variables that are not trained
	step    tfbridge.Output
}

// change is a new value for a variable, assigned after each step of training.
type change struct {
	variable *Variable
	value    tfbridge.Output
}

// Variable is a variable of the model. It has the same value in all modes.
type Variable struct {
	Name      string // "dense/kernel"
	DType     tfbridge.DataType
	Shape     tfbridge.Shape // fully defined
	Trainable bool

	handle  tfbridge.Output
	initial tfbridge.Output
	assign  *tfbridge.Operation // assigns the initial value
	read    tfbridge.Output     // read operation that Python's loader requires
}

// store holds the variables of all modes.
type store struct {
	root   *graph.Scope
	seed   int64
	byName map[string]*Variable
	all    []*Variable
}

// Layer returns the name of a new layer: name, or the type of the layer with a number. The
// names of its variables begin with it. Layers get the same names in each mode if the
// model function adds the same layers. Two layers of one name are a failure: they would
// share their variables.
func (n *Net) Layer(name, kind string) string {
	if name == "" {
		count := n.names[kind]
		n.names[kind]++
		if name = kind; count > 0 {
			name = fmt.Sprintf("%s_%d", kind, count)
		}
	}
	if n.taken[name] {
		n.fail("%s: another layer has this name; give one of them another", name)
	}
	n.taken[name] = true
	return name
}

// Update gives a variable that is not trained, such as a moving average, a new value
// after each step of training. In other modes it does nothing. The variable is one that
// Variable has made in this mode.
func (n *Net) Update(name string, value tfbridge.Output) {
	v := n.store.byName[name]
	switch {
	case n.Err() != nil || n.Mode != Train:
	case v == nil || v.Trainable:
		n.fail("variable %q: there is none, or it is trained; only variables that are not trained are updated", name)
	default:
		n.changes = append(n.changes, change{v, value})
	}
}

// Variable returns the value of a float variable of the model, which it makes at the
// first call with a name. Shape must be the same in all modes.
func (n *Net) Variable(name string, shape []int64, o *VariableOptions) tfbridge.Output {
	if o == nil {
		o = &VariableOptions{}
	}
	v := n.variable(name, shape, o)
	if v == nil {
		return tfbridge.Output{}
	}
	return n.Op1("ReadVariableOp", map[string]any{"dtype": v.DType}, v.handle)
}

// VariableOptions are the options of a variable. Nil and the zero value mean the
// defaults.
type VariableOptions struct {
	Initializer  Initializer // nil: GlorotUniform
	NotTrainable bool        // the optimizer does not change it
}

// variable finds or makes a variable, nil after a failure.
func (n *Net) variable(name string, shape []int64, o *VariableOptions) *Variable {
	if n.Err() != nil {
		return nil
	}
	want := tfbridge.MakeShape(shape...)
	if v := n.store.byName[name]; v != nil {
		if !v.Shape.Equal(want) {
			n.fail("variable %q has the shape %v in mode %s and %v in another", name, want, n.Mode, v.Shape)
			return nil
		}
		return v
	}
	for _, size := range shape {
		if size < 0 {
			n.fail("variable %q would have the shape %v: a size of the layer's input is not known", name, want)
			return nil
		}
	}
	v := &Variable{Name: name, DType: tfbridge.Float, Shape: want, Trainable: !o.NotTrainable}
	if o.Initializer == nil {
		o = &VariableOptions{Initializer: GlorotUniform{}, NotTrainable: o.NotTrainable}
	}
	n.store.add(v, func(s *graph.Scope) tfbridge.Output {
		return o.Initializer.Value(s, shape, n.store.seed+int64(len(n.store.all)))
	})
	if n.Err() != nil {
		return nil
	}
	return v
}

// add adds a variable to the graph.
func (st *store) add(v *Variable, initial func(s *graph.Scope) tfbridge.Output) {
	s := st.root
	op := s.AddOperation(tfbridge.OpSpec{Type: "VarHandleOp", Name: v.Name, Attrs: map[string]any{"dtype": v.DType, "shape": v.Shape, "shared_name": v.Name}})
	if s.Err() != nil {
		return
	}
	v.handle = op.Output(0)
	sub := s.SubScope(v.Name + "_initializer")
	v.initial = graph.Identity(sub, initial(sub))
	v.assign = sub.AddOperation(tfbridge.OpSpec{Type: "AssignVariableOp", Name: "Assign", Input: []tfbridge.Input{v.handle, v.initial}})
	v.read = sub.Op1("ReadVariableOp", map[string]any{"dtype": v.DType}, v.handle)
	st.byName[v.Name] = v
	st.all = append(st.all, v)
}

// fail makes the scope fail.
func (n *Net) fail(format string, args ...any) {
	n.UpdateErr("layer", millrace.Errorf(millrace.ErrModel, format, args...))
}

// last returns the size of the last dimension, -1 if it is not known.
func last(x tfbridge.Output) int64 { return dim(x, -1) }

// dim returns the size of a dimension, from the end if it is negative; -1 if it is not
// known.
func dim(x tfbridge.Output, i int) int64 {
	s := graph.SpecOf(x).Shape
	if i < 0 {
		i += s.NumDimensions()
	}
	if i < 0 || i >= s.NumDimensions() {
		return -1
	}
	return s.Size(i)
}

// f adds an operation.
func (n *Net) f(opType string, attrs map[string]any, inputs ...tfbridge.Output) tfbridge.Output {
	in := make([]tfbridge.Input, len(inputs))
	for i, o := range inputs {
		in[i] = o
	}
	return n.Op1(opType, attrs, in...)
}
