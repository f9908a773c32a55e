package inputcheck

import (
	"fmt"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/tfproto"
)

// Kernels take the dtype of a variable from their own attributes, and end the process if
// the variable has another. RngReadAndSkip copies the whole state of a random generator
// into a result of three numbers, however long it is. A check right before such a kernel
// is of no use if another operation may assign something else in between. So the
// invariant is about assignments: a variable keeps the dtype that its handle declares,
// and a state that is declared with three numbers keeps that length.
//
//  1. All handles of a name declare the same, since they refer to one variable
//     (checkVariables). TensorFlow does not compare them.
//  2. AssignVariableOp, the only operation that gives a variable another tensor, assigns
//     what the handle declares (keepHandle, keepState). A graph that does not show its
//     handle is refused.
//     Where the graph scatters, it also assigns rows of the declared size (keepRows): kernels copy rows
//     of an update into rows of the variable without comparing their sizes.
//     In a function that only a program may call, an assignment reads the variable first, and keeps its
//     dtype and, where that matters, its number of elements and the size of its rows. So such
//     a function cannot initialize a variable.
//  3. Other operations take a handle that declares what they need. If the graph does not show
//     which one it is, they read the variable first: its dtype cannot change afterwards.

// wasAssigned is the number of the value of a variable among the inputs of a rule, after all
// inputs of the operation.
const wasAssigned = 100

// assignOp gives a variable another tensor.
const assignOp = "AssignVariableOp"

// stateSize is the number of elements of the state of a random generator.
const stateSize = 3

// anonymous is the name of variables that each run makes for itself alone.
const anonymous = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"

// checkVariables refuses a graph with two handles of a name that declare different
// variables. It ignores containers, and a variable without a name has the empty one, as in TensorFlow.
func (f *flow) checkVariables() error {
	first := map[string]*tfproto.NodeDef{}
	for _, nodes := range f.bodies {
		for _, n := range nodes {
			if n.GetOp() != "VarHandleOp" {
				continue
			}
			attrs := n.GetAttr()
			if attrs["dtype"].GetPlaceholder()+attrs["shape"].GetPlaceholder()+attrs["shared_name"].GetPlaceholder() != "" {
				return millrace.Errorf(millrace.ErrModel, "operation %s (%s) leaves the variable to the caller of a function; it must have its own name, dtype and shape",
					millrace.Quote(n.GetName()), n.GetOp())
			}
			name := string(attrs["shared_name"].GetS())
			other := first[name]
			if other == nil || name == anonymous {
				first[name] = n
				continue
			}
			if f.differ(attrs, other.GetAttr()) {
				return millrace.Errorf(millrace.ErrModel, "operations %s and %s refer to variable %s, one with dtype %s and shape %s, the other with dtype %s and shape %s",
					millrace.Quote(min(n.GetName(), other.GetName())), millrace.Quote(max(n.GetName(), other.GetName())), millrace.Quote(name),
					dtype.DataType(attrs["dtype"].GetType()), attrs["shape"].GetShape(), dtype.DataType(other.GetAttr()["dtype"].GetType()), other.GetAttr()["shape"].GetShape())
			}
		}
	}
	return nil
}

// differ reports whether two handles declare different variables. Shapes only matter for the states of generators.
func (f *flow) differ(a, b map[string]*tfproto.AttrValue) bool {
	isState := func(attrs map[string]*tfproto.AttrValue) bool {
		return f.generates && attrs["dtype"].GetType() == tfproto.DataType_DT_INT64 && elementsOf(attrs["shape"].GetShape()) == stateSize
	}
	rows := f.scatters && rowOf(a["shape"].GetShape()) != rowOf(b["shape"].GetShape())
	return a["dtype"].GetType() != b["dtype"].GetType() || isState(a) != isState(b) || rows
}

// keepHandle requires that the variable of a handle has the dtype in an attribute.
func (c *check) keepHandle(input int, attr string) error {
	n := c.node
	want := n.GetAttr()[attr].GetType()
	has := c.flow.variable(c.function.GetName(), n.GetInput()[input])
	switch {
	case has.known && has.dt == want:
	case has.known:
		return millrace.Errorf(millrace.ErrModel, "operation %s (%s) takes a variable of dtype %s, and its input %d has dtype %s",
			millrace.Quote(n.GetName()), n.GetOp(), dtype.DataType(want), input, dtype.DataType(has.dt))
	case n.GetOp() != assignOp || has.uncalled:
		c.reads = append(c.reads, c.read(input, n.GetAttr()[attr]))
	default:
		return c.hiddenHandle()
	}
	return nil
}

// hiddenHandle returns the error for a handle that the graph does not show.
func (c *check) hiddenHandle() error {
	return millrace.Errorf(millrace.ErrModel, "operation %s (%s) takes a variable that only a run would show; its handle must come from VarHandleOp, through calls and loops at most",
		millrace.Quote(c.node.GetName()), c.node.GetOp())
}

// keepState requires that a random generator takes a state of three numbers, and that
// assignments keep its length.
func (c *check) keepState() error {
	n := c.node
	if !c.flow.generates || len(dataInputs(n)) < 2 || n.GetOp() != generatorOp && (n.GetOp() != assignOp || n.GetAttr()["dtype"].GetType() != tfproto.DataType_DT_INT64) {
		return nil
	}
	has := c.flow.variable(c.function.GetName(), n.GetInput()[0])
	switch {
	case has.uncalled && n.GetOp() == assignOp:
		return c.requireText(fmt.Sprintf("size(1)<=size(%d)", wasAssigned))
	case has.uncalled:
		c.reads = append(c.reads, c.read(0, &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: tfproto.DataType_DT_INT64}}))
		return c.requireText(fmt.Sprintf("size(%d)<=%d", wasAssigned, stateSize))
	case !has.known:
		return c.hiddenHandle()
	case n.GetOp() == generatorOp && has.elements != stateSize:
		return millrace.Errorf(millrace.ErrModel, "operation %s (%s) takes the state of a random generator, which must be declared with %d numbers of int64",
			millrace.Quote(n.GetName()), n.GetOp(), stateSize)
	case n.GetOp() == generatorOp || !has.some:
		return nil
	}
	return c.requireText(fmt.Sprintf("size(1)<=%d", stateSize))
}

// keepRows requires that a scatter updates rows of the size that the variable is declared
// with, and that assignments keep it.
func (c *check) keepRows() error {
	n := c.node
	if !c.flow.scatters || len(dataInputs(n)) < 2 || n.GetOp() != assignOp && !scatters[n.GetOp()] {
		return nil
	}
	has := c.flow.variable(c.function.GetName(), n.GetInput()[0])
	switch {
	case has.uncalled && n.GetOp() == assignOp:
		return c.requireText(fmt.Sprintf("slice(1)=slice(%d)", wasAssigned))
	case has.uncalled:
		return c.requireText(fmt.Sprintf("each(2)=slice(%d)", wasAssigned))
	case !has.known:
		return c.hiddenHandle()
	case n.GetOp() == assignOp && !has.rows:
		return nil
	case has.row < 0:
		return millrace.Errorf(millrace.ErrModel, "operation %s (%s) takes a variable whose rows have no known size, in a graph that updates rows; its handle must declare all dimensions but the first",
			millrace.Quote(n.GetName()), n.GetOp())
	case n.GetOp() == assignOp:
		if err := c.requireText("rank(1)>=1"); err != nil {
			return err
		}
		return c.requireText(fmt.Sprintf("slice(1)=%d", has.row))
	}
	return c.requireText(fmt.Sprintf("each(2)=%d", has.row))
}

// rowOf returns the number of elements of a row of a shape, -1 if it has no rows or they are of
// unknown size.
func rowOf(shape *tfproto.TensorShapeProto) int64 {
	if len(shape.GetDim()) == 0 || shape.GetUnknownRank() {
		return -1
	}
	return elementsOf(&tfproto.TensorShapeProto{Dim: shape.GetDim()[1:]})
}

// variable returns what the graph shows of the variable whose handle a tensor is.
func (f *flow) variable(body, name string) answer {
	key := body + "/" + name
	if _, seen := f.known[key]; !seen {
		f.known[key] = f.search(tensor{body, name})
	}
	return f.known[key]
}

// search follows a handle back to all operations that may have made it.
func (f *flow) search(handle tensor) (all answer) {
	seen := map[tensor]bool{handle: true}
	for pending := []tensor{handle}; len(pending) > 0; {
		at := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		node := nodeOf(at.name)
		if n := f.bodies[at.body][node]; n.GetOp() == "VarHandleOp" {
			if all = all.join(n.GetAttr()); !all.known {
				return answer{}
			}
			continue
		}
		from, ok := f.before(at)
		if !ok || len(seen) > maxHandles {
			return answer{}
		}
		for _, t := range from {
			if !seen[t] {
				seen[t] = true
				pending = append(pending, t)
			}
		}
	}
	all.uncalled = !all.known
	return all
}

// maxHandles limits the tensors that search visits.
const maxHandles = 1 << 16

// join adds the variable that a VarHandleOp declares.
func (a answer) join(attrs map[string]*tfproto.AttrValue) answer {
	dt, elements := attrs["dtype"].GetType(), elementsOf(attrs["shape"].GetShape())
	isState, row := elements == stateSize, rowOf(attrs["shape"].GetShape())
	switch {
	case !a.known && !a.some:
		return answer{known: true, dt: dt, elements: elements, some: isState, row: row, rows: row >= 0}
	case a.dt != dt:
		return answer{}
	case a.elements != elements:
		a.elements = -1
	}
	if a.row != row {
		a.row = -1
	}
	a.rows = a.rows || row >= 0
	a.some = a.some || isState
	return a
}

// elementsOf returns the number of elements of a shape, -1 if it is unknown.
func elementsOf(shape *tfproto.TensorShapeProto) int64 {
	if shape == nil || shape.GetUnknownRank() {
		return -1
	}
	var dims []int64
	for _, d := range shape.GetDim() {
		dims = append(dims, d.GetSize())
	}
	n, err := dtype.Elements(dims)
	if err != nil {
		return -1
	}
	return n
}

// passes are operations whose output k is their input, or their input k.
var passes = words(`Enter Exit Identity IdentityN NextIteration StopGradient Switch`)

// before returns the tensors from which a tensor may come unchanged. ok is false if it may be another one.
func (f *flow) before(t tensor) (from []tensor, ok bool) {
	node := nodeOf(t.name)
	n := f.bodies[t.body][node]
	if n == nil {
		return f.beforeArgument(t.body, node)
	}
	port := outputOf(t.name)
	inputs := dataInputs(n)
	results := func(function string) bool {
		if port >= len(f.results[function]) {
			return false
		}
		from = append(from, tensor{function, f.results[function][port]})
		return true
	}
	switch op := n.GetOp(); {
	case f.results[op] != nil:
		return from, t.body == "" && results(op) // an output in a function has the name of a result
	case op == "IdentityN" && port < len(inputs):
		return []tensor{{t.body, inputs[port]}}, true
	case passes[op] && op != "IdentityN" && len(inputs) > 0:
		return []tensor{{t.body, inputs[0]}}, true
	case op == "Merge":
		for _, in := range inputs {
			from = append(from, tensor{t.body, in})
		}
		return from, port == 0
	case op == "PartitionedCall", op == "StatefulPartitionedCall":
		return from, results(n.GetAttr()["f"].GetFunc().GetName())
	case op == "If", op == "StatelessIf":
		return from, results(n.GetAttr()["then_branch"].GetFunc().GetName()) && results(n.GetAttr()["else_branch"].GetFunc().GetName())
	case (op == "While" || op == "StatelessWhile") && port < len(inputs):
		from = append(from, tensor{t.body, inputs[port]})
		return from, results(n.GetAttr()["body"].GetFunc().GetName())
	}
	return nil, false
}

// beforeArgument returns the tensors that calls pass as an argument.
func (f *flow) beforeArgument(body, name string) (from []tensor, ok bool) {
	i, ok := f.args[body][name]
	if !ok {
		return nil, false
	}
	for _, c := range f.calls[body] {
		passed, ok := c.passed(f, i)
		if !ok {
			return nil, false
		}
		for _, t := range passed {
			from = append(from, tensor{t[0], t[1]})
		}
	}
	return from, true
}
