package op

import (
	tf "millrace/tfbridge"
)

// attr is an attribute's name and value. The generated types of optional
// attributes are like it.
type attr struct {
	name  string
	value any
}

// given collects the attributes of an operation that has no optional ones.
func given(required ...attr) map[string]any {
	return attrs[attr](nil, required...)
}

// attrs collects the attributes of an operation.
func attrs[A ~struct {
	name  string
	value any
}](optional []A, required ...attr) map[string]any {
	if len(optional)+len(required) == 0 {
		return nil
	}
	m := make(map[string]any, len(optional)+len(required))
	for _, a := range optional {
		if o := attr(a); o.name != "" { // the zero value is no attribute
			m[o.name] = o.value
		}
	}
	for _, a := range required {
		m[a.name] = a.value
	}
	return m
}

// results hands out the outputs of an operation, in order.
type results struct {
	scope *Scope
	op    *tf.Operation // nil after a failure
	next  int
}

// add adds an operation.
func add(scope *Scope, typ string, attrs map[string]any, inputs ...tf.Input) *results {
	return &results{scope: scope, op: scope.AddOperation(tf.OpSpec{Type: typ, Attrs: attrs, Input: inputs})}
}

// one returns the next output, the zero Output after a failure.
func (r *results) one() tf.Output {
	if r.op == nil {
		return tf.Output{}
	}
	r.next++
	return r.op.Output(r.next - 1)
}

// list returns the outputs of the next list, nil after a failure.
func (r *results) list(name string) []tf.Output {
	if r.op == nil {
		return nil
	}
	n, err := r.op.OutputListSize(name)
	if err != nil {
		r.scope.UpdateErr(r.op.Type(), err)
		return nil
	}
	outputs := make([]tf.Output, n)
	for i := range outputs {
		outputs[i] = r.op.Output(r.next + i)
	}
	r.next += n
	return outputs
}
