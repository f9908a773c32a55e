package tensors

import (
	"fmt"
	"strings"

	"millrace/dtype"
	"millrace/graph"
	"millrace/internal/base/jsonpos"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/tfbridge"
)

// FilterArgs are the arguments of a step of type filter.
type FilterArgs struct {
	decl.Object
	Conditions []FilterCondition `json:"conditions" decl:"required,nonempty,most=64" doc:"What an example must fulfil, all of it, to be kept."`
}

// FilterCondition is one of the conditions of a filter.
type FilterCondition struct {
	decl.Object
	Tensor string           `json:"tensor" decl:"required" doc:"The tensor that is looked at: a scalar, unless length is given."`
	Length int64            `json:"length" decl:"min=-254,max=253" doc:"An axis, counted from the end if it is negative. The size of the tensor along it is compared, and not a value."`
	Op     string           `json:"op" decl:"required,enum=eq|ne|lt|le|gt|ge|in" doc:"How it is compared with value: eq, ne, lt, le, gt, ge, or in, which looks for it in a list."`
	Value  processing.Value `json:"value" decl:"required" doc:"What it is compared with, a value of the tensor's dtype; for in a list of them."`
}

// Tensors lists the tensors of the conditions.
func (a *FilterArgs) Tensors() (list []processing.NamedAt) {
	for i := range a.Conditions {
		c := &a.Conditions[i]
		if c.At == nil || c.Bad("tensor") {
			list = append(list, processing.NamedAt{})
			continue
		}
		list = append(list, processing.NamedAt{At: c.Key("tensor"), Name: c.Tensor})
	}
	return list
}

// Check reads the values of the conditions.
func (a *FilterArgs) Check(c *processing.Context) processing.Step {
	f := &Filter{}
	ok := a.At != nil && len(c.In) == len(a.Conditions)
	for i := range a.Conditions {
		if !ok && len(c.In) != len(a.Conditions) {
			break
		}
		k, whole := a.Conditions[i].check(c, i)
		f.conditions, ok = append(f.conditions, k), ok && whole
	}
	if !ok || len(f.conditions) == 0 {
		return nil
	}
	return f
}

// condition is a checked condition.
type condition struct {
	op     string
	values []any          // what is compared with; one but for "in"
	dtype  dtype.DataType // dtype of the values
	axis   int            // the axis whose size is compared, -1 for the value
	what   string
}

// check checks the condition, whose tensor is input i.
func (k *FilterCondition) check(c *processing.Context, i int) (condition, bool) {
	made := condition{op: k.Op, axis: -1, dtype: dtype.Int64}
	if k.At == nil || k.Bad("tensor", "op", "length", "value") {
		return made, false
	}
	t, known := c.InputAt(i)
	if !known {
		return made, false
	}
	switch {
	case k.Has("length"):
		axis, ok := c.Axis(k.Key("length"), k.Length, len(t.Shape))
		if !ok {
			return made, false
		}
		made.axis = axis
	case len(t.Shape) > 0:
		c.Report(k.Key("tensor"), "filter compares scalars, and %s has shape %s", decl.Quote(t.Name), processing.FormatShape(t.Shape)).Hint =
			"length compares the size of an axis, and a step before it can make a scalar: slice, or compare with gather"
		return made, false
	default:
		made.dtype = t.DType
	}
	if kind := processing.KindOf(made.dtype); k.Op != "eq" && k.Op != "ne" && k.Op != "in" &&
		(kind == processing.StringKind || kind == processing.BoolKind || kind == processing.ComplexKind) {
		c.Report(k.Key("op"), "%s has no order: only eq, ne and in compare it", made.dtype)
		return made, false
	}
	if !made.read(c, k) {
		return made, false
	}
	made.what = made.describe(t.Name)
	return made, true
}

// read reads what is compared with.
func (k *condition) read(c *processing.Context, from *FilterCondition) (ok bool) {
	nodes := []*jsonpos.Node{from.Value}
	if k.op == "in" {
		if from.Value.Kind() != jsonpos.List || from.Value.Len() == 0 {
			c.Report(from.Key("value"), "must be a list of values, got %s", decl.Show(from.Value))
			return false
		}
		nodes = nil
		for i := range from.Value.Len() {
			nodes = append(nodes, from.Value.Elem(i))
		}
	}
	ok = true
	for _, n := range nodes {
		v, fits := c.Value(n, n, k.dtype)
		if ok = ok && fits; fits {
			k.values = append(k.values, v)
		}
	}
	return ok
}

func (k *condition) describe(tensor string) string {
	var values []string
	for _, v := range k.values {
		text := fmt.Sprint(v)
		if s, ok := v.(string); ok {
			text = decl.Quote(s)
		}
		values = append(values, text)
	}
	text := strings.Join(values, ", ")
	if k.op == "in" {
		text = "[" + text + "]"
	}
	if k.axis >= 0 {
		tensor = fmt.Sprintf("length of %s along axis %d", tensor, k.axis)
	}
	return fmt.Sprintf("%s %s %s", tensor, k.op, text)
}

// Filter is a checked step of type filter. It writes no tensor: [Filter.Keep] says which
// examples go on.
type Filter struct{ conditions []condition }

// Explain lists the conditions.
func (f *Filter) Explain() string {
	var all []string
	for _, k := range f.conditions {
		all = append(all, k.what)
	}
	return strings.Join(all, " and ")
}

// Out returns nothing: a filter writes no tensor.
func (f *Filter) Out() processing.Tensor { return processing.Tensor{} }

// Build returns nothing.
func (f *Filter) Build(*processing.Site, []tfbridge.Output) tfbridge.Output {
	return tfbridge.Output{}
}

// Columns says that the step works on batches.
func (f *Filter) Columns() {}

var comparing = map[string]string{"eq": "Equal", "ne": "NotEqual", "lt": "Less", "le": "LessEqual", "gt": "Greater", "ge": "GreaterEqual"}

// Keep returns whether an example is kept, a bool. Where lead is 1, in are batches, and so is
// the result.
func (f *Filter) Keep(b *processing.Site, in []tfbridge.Output, lead int) (keep tfbridge.Output) {
	for i, k := range f.conditions {
		if b.Err() != nil {
			return keep
		}
		one := k.holds(b, in[i], lead)
		if keep == (tfbridge.Output{}) {
			keep = one
			continue
		}
		keep = graph.LogicalAnd(b.Scope, keep, one)
	}
	return keep
}

// holds returns whether the condition holds for a tensor.
func (k *condition) holds(b *processing.Site, x tfbridge.Output, lead int) tfbridge.Output {
	s := b.Scope
	if k.axis >= 0 {
		shape := graph.Shape(s, x)
		size := graph.Subscript(s, shape, graph.At(int64(lead+k.axis)))
		x = graph.Fill(s, graph.Subscript(s, shape, graph.Until(int64(lead))), size)
	}
	if k.op == "in" {
		var any tfbridge.Output
		for i, v := range k.values {
			equal := b.Op1("Equal", nil, x, b.Scalar(v, k.dtype))
			if i > 0 {
				equal = graph.LogicalOr(s, any, equal)
			}
			any = equal
		}
		return any
	}
	return b.Op1(comparing[k.op], nil, x, b.Scalar(k.values[0], k.dtype))
}
