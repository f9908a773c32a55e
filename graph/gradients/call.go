package gradients

import (
	"millrace"
	"millrace/graph"
	"millrace/tfbridge"
)

// rule adds the derivatives of one operation. It returns one for each input; the
// zero Output and missing ones at the end mean zero.
type rule func(c *call) []tfbridge.Output

// call is an operation to differentiate, with the derivatives of its outputs. It
// embeds the scope that the derivatives are added to.
type call struct {
	arithmetic
	*node
	walk *walk
	dy   []tfbridge.Output // gradient of each output; the zero Output means zero
}

// x returns input i.
func (c *call) x(i int) tfbridge.Output { return c.inputs[i] }

// y returns output i.
func (c *call) y(i int) tfbridge.Output { return c.op.Output(i) }

// d returns the derivative of output i, zeros if there is none.
func (c *call) d(i int) tfbridge.Output {
	if c.dy[i].Op == nil {
		c.dy[i] = c.Op1("ZerosLike", nil, c.y(i))
	}
	return c.dy[i]
}

// lazy calls f if input i needs a derivative.
func (c *call) lazy(i int, f func() tfbridge.Output) tfbridge.Output {
	if !c.active[i] {
		return tfbridge.Output{}
	}
	return f()
}

// ds returns the derivatives of all outputs.
func (c *call) ds() []tfbridge.Output {
	all := make([]tfbridge.Output, len(c.dy))
	for i := range all {
		all[i] = c.d(i)
	}
	return all
}

// library returns the functions of the graph.
func (c *call) library() *library {
	if c.walk.lib == nil {
		lib, err := newLibrary(c.Graph())
		c.UpdateErr("gradients", err)
		c.walk.lib = lib
	}
	return c.walk.lib
}

// fail makes the scope fail because of the operation.
func (c *call) fail(format string, args ...any) []tfbridge.Output {
	why := millrace.Errorf(millrace.ErrModel, format, args...)
	c.UpdateErr("gradients", millrace.Errorf(millrace.ErrModel, "the operation %s of type %s has no derivative: %w",
		millrace.Quote(c.name), millrace.Quote(c.typ), why))
	return nil
}

// attr returns an attribute of the operation.
func attr[T any](c *call, name string) (value T) {
	v, err := c.op.Attr(name)
	if err != nil {
		c.UpdateErr("gradients", err)
		return value
	}
	value, _ = v.(T)
	return value
}

// attrs returns some attributes of the operation, for an operation that takes the
// same.
func (c *call) attrs(names ...string) map[string]any {
	m := map[string]any{}
	for _, name := range names {
		v, err := c.op.Attr(name)
		if err != nil {
			c.UpdateErr("gradients", err)
			return nil
		}
		m[name] = v
	}
	return m
}

// number returns a constant of a floating point data type.
func number(s *graph.Scope, dt tfbridge.DataType, value float64) tfbridge.Output {
	switch dt {
	case tfbridge.Float:
		return s.Const(float32(value))
	case tfbridge.Double:
		return s.Const(value)
	}
	return graph.Cast(s, s.Const(float32(value)), dt)
}

// n returns a constant of the data type of the first output.
func (c *call) n(value float64) tfbridge.Output { return number(c.Scope, c.y(0).DataType(), value) }

// ints returns the value of an integer constant.
func ints(o tfbridge.Output) ([]int64, bool) {
	for o.Op.Type() == "Identity" {
		o = o.Op.Inputs()[0]
	}
	if o.Op.Type() != "Const" {
		return nil, false
	}
	v, err := o.Op.Attr("value")
	t, ok := v.(*tfbridge.Tensor)
	if err != nil || !ok {
		return nil, false
	}
	defer t.Close()
	switch t.DataType() {
	case tfbridge.Int32:
		return widen[int32](t)
	case tfbridge.Int64:
		return widen[int64](t)
	}
	return nil, false
}

// widen returns the elements of an integer tensor.
func widen[T int32 | int64](t *tfbridge.Tensor) ([]int64, bool) {
	values, err := tfbridge.View[T](t)
	if err != nil {
		return nil, false
	}
	wide := make([]int64, len(values))
	for i, v := range values {
		wide[i] = int64(v)
	}
	return wide, true
}

// one returns the derivative of an operation with one input that matters.
func one(f func(c *call) tfbridge.Output) rule {
	return func(c *call) []tfbridge.Output { return []tfbridge.Output{f(c)} }
}

// times returns a rule for an operation of one input: the derivative is the one of
// the output times f.
func times(f func(c *call, x, y tfbridge.Output) tfbridge.Output) rule {
	return one(func(c *call) tfbridge.Output { return c.mul(c.d(0), f(c, c.x(0), c.y(0))) })
}
