package tfbridge

// #include "capi.h"
import "C"

import (
	"slices"
	"unsafe"

	"millrace"
)

// AddGradients adds operations that compute the partial derivatives of the sum of all y
// with respect to each x, and returns their outputs, one for each x. If dx holds the
// derivatives of a loss with respect to each y, the results are the derivatives of that
// loss with respect to each x (the chain rule).
//
// The names of the new operations begin with prefix and a "/"; an empty prefix
// means "gradients", with a number if the graph already has that name. It is an
// error if the graph already has the prefix. It is an error if no y depends on
// an x, or depends on it only through an operation without a derivative, such
// as Floor. It is also an error if TensorFlow's C++ library does not know the
// derivative of an operation between x and y; it knows fewer derivatives than
// Python. After an error the graph may hold some of the new operations.
//
// It wraps TF_AddGradientsWithPrefix.
func (g *Graph) AddGradients(prefix string, y, x, dx []Output) ([]Output, error) {
	if err := g.hold(); err != nil {
		return nil, err
	}
	defer g.release()
	if err := checkGradients(prefix, y, x, dx); err != nil {
		return nil, err
	}
	cy, err := g.outputs(y)
	if err != nil {
		return nil, errGradients("y", err)
	}
	cx, err := g.outputs(x)
	if err != nil {
		return nil, errGradients("x", err)
	}
	cdx, err := g.outputs(dx)
	if err != nil {
		return nil, errGradients("dx", err)
	}
	var cs cstrings
	defer cs.free()
	var cPrefix *C.char
	if prefix != "" {
		cPrefix = cs.add(prefix)
	}
	unique, where := distinct(cx) // for a repeated x, TensorFlow only sets the first result
	dy := make([]C.TF_Output, len(unique))
	g.edges.Lock()
	err = check("TF_AddGradientsWithPrefix", func(st *C.TF_Status) {
		C.TF_AddGradientsWithPrefix(g.ptr(), cPrefix, unsafe.SliceData(cy), C.int(len(cy)),
			unsafe.SliceData(unique), C.int(len(unique)), first(cdx), st, unsafe.SliceData(dy))
	})
	g.edges.Unlock()
	if err != nil {
		return nil, err
	}
	out := make([]Output, len(x))
	for i := range x {
		o := dy[where[i]]
		if o.oper == nil {
			return nil, millrace.Errorf(millrace.ErrModel, "gradients: y has no derivative with respect to x[%d], %v", i, x[i])
		}
		out[i] = g.output(o)
	}
	return out, nil
}

// distinct returns a list without repetitions, and for each element of the list
// its index there.
func distinct(list []C.TF_Output) (unique []C.TF_Output, where []int) {
	for _, o := range list {
		i := slices.Index(unique, o)
		if i < 0 {
			i = len(unique)
			unique = append(unique, o)
		}
		where = append(where, i)
	}
	return unique, where
}

// first returns a pointer to the elements, nil if there are none. TensorFlow assumes
// that a non-nil pointer is a list as long as y.
func first(list []C.TF_Output) *C.TF_Output {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// checkGradients checks the arguments that TensorFlow does not check.
func checkGradients(prefix string, y, x, dx []Output) error {
	switch {
	case prefix != "" && !validName.MatchString(prefix):
		return millrace.Errorf(millrace.ErrModel, "gradients: %q is not a valid prefix for the names of operations", prefix)
	case len(y) == 0 || len(x) == 0:
		return millrace.Errorf(millrace.ErrModel, "gradients of %d outputs with respect to %d", len(y), len(x))
	case len(dx) != 0 && len(dx) != len(y):
		return millrace.Errorf(millrace.ErrModel, "gradients: %d values in dx for %d in y", len(dx), len(y))
	}
	for i, o := range dx {
		if got, want := o.DataType().Base(), y[i].DataType().Base(); got != want {
			return millrace.Errorf(millrace.ErrModel, "gradients: dx[%d] has type %v, y[%d] %v", i, got, i, want)
		}
	}
	return nil
}

// errGradients returns an error that names the list with an invalid output.
func errGradients(list string, err error) error {
	return millrace.Errorf(millrace.ErrModel, "gradients: %s: %w", list, err)
}
