// Package opimpl has the helpers that generated functions of operations call: the
// functions of package op, and those that "millrace ops wrap" writes for libraries of
// users. Other code should call [millrace/graph.Scope.AddOperation].
package opimpl

import (
	"millrace/graph"
	"millrace/graph/internal/unbuilt"
	tf "millrace/tfbridge"
)

// Attr is an attribute's name and value. The generated types of optional
// attributes are like it.
type Attr struct {
	Name  string
	Value any
}

// Given collects the attributes of an operation that has no optional ones.
func Given(required ...Attr) map[string]any { return Attrs[Attr](nil, required...) }

// Attrs collects the attributes of an operation.
func Attrs[O ~struct {
	Name  string
	Value any
}](optional []O, required ...Attr) map[string]any {
	if len(optional)+len(required) == 0 {
		return nil
	}
	m := make(map[string]any, len(optional)+len(required))
	for _, a := range optional {
		if o := Attr(a); o.Name != "" { // the zero value means no attribute
			m[o.Name] = o.Value
		}
	}
	for _, a := range required {
		m[a.Name] = a.Value
	}
	return m
}

// Results returns the outputs of an operation one after the other.
type Results struct {
	scope *graph.Scope
	spec  tf.OpSpec
	op    *tf.Operation // nil after a failure
	next  int
}

// Add adds an operation.
func Add(scope *graph.Scope, typ string, attrs map[string]any, inputs ...tf.Input) *Results {
	spec := tf.OpSpec{Type: typ, Attrs: attrs, Input: inputs}
	return &Results{scope: scope, spec: spec, op: scope.AddOperation(spec)}
}

// One returns the next output, the zero Output after a failure.
func (r *Results) One() tf.Output {
	if r.op == nil {
		return tf.Output{}
	}
	r.next++
	return r.op.Output(r.next - 1)
}

// List returns the outputs of the next list. After a failure it returns as many zero
// Outputs, as [graph.Scope.Op] does.
func (r *Results) List(name string) []tf.Output {
	if r.op == nil {
		return unbuilt.List(r.scope.Graph(), r.spec, name)
	}
	n, err := r.op.OutputListSize(name)
	if err != nil {
		r.scope.UpdateErr(r.op.Type(), err)
		return unbuilt.List(r.scope.Graph(), r.spec, name)
	}
	outputs := make([]tf.Output, n)
	for i := range outputs {
		outputs[i] = r.op.Output(r.next + i)
	}
	r.next += n
	return outputs
}

// Operation returns the operation, nil after a failure.
func (r *Results) Operation() *tf.Operation { return r.op }
