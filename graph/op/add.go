package op

import (
	"millrace/graph/opimpl"
	tf "millrace/tfbridge"
)

// attr is an attribute's name and value, as in package opimpl.
type attr struct {
	Name  string
	Value any
}

// given collects the attributes of an operation that has no optional ones.
func given(required ...attr) map[string]any { return opimpl.Attrs(required) }

// attrs collects the attributes of an operation.
func attrs[O ~struct {
	Name  string
	Value any
}](optional []O, required ...attr) map[string]any {
	list := make([]opimpl.Attr, len(required))
	for i, a := range required {
		list[i] = opimpl.Attr(a)
	}
	return opimpl.Attrs(optional, list...)
}

// results returns the outputs of an operation one after the other.
type results struct {
	*opimpl.Results
	op *tf.Operation // nil after a failure
}

// add adds an operation.
func add(scope *Scope, typ string, attrs map[string]any, inputs ...tf.Input) results {
	r := opimpl.Add(scope, typ, attrs, inputs...)
	return results{r, r.Operation()}
}

// one returns the next output, the zero Output after a failure.
func (r results) one() tf.Output { return r.One() }

// list returns the outputs of the next list, as many zero Outputs after a failure.
func (r results) list(name string) []tf.Output { return r.List(name) }
