package inputcheck

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/argcheck"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// check is an operation that gets a check of its arguments.
type check struct {
	checked
	flow    *flow
	types   []tfproto.DataType // the types of its inputs
	ranks   []*tfproto.NodeDef // EnsureShape operations for ranks of inputs
	reads   []*tfproto.NodeDef // operations that read the variables of handles
	limited []*tfproto.NodeDef // operations that check the rank of an input each
	hides   bool               // the shape of input 0 is hidden from TensorFlow's optimizer
	spec    tfbridge.ArgumentsSpec
}

// keep keeps the rules that only a run can check.
func (c *check) keep(rules []argcheck.Rule) error {
	n := c.node
	rules = slices.DeleteFunc(slices.Clone(rules), func(r argcheck.Rule) bool {
		if name, want, ok := r.OfBool(); ok {
			return n.GetAttr()[name].GetB() != want
		}
		if name, words, ok := r.OfWords(); ok {
			word := n.GetAttr()[name].GetS()
			if list := n.GetAttr()[name].GetList().GetS(); len(list) > 0 {
				word = list[len(list)-1]
			}
			return !slices.Contains(words, string(word))
		}
		name, ok := r.OfStrings()
		return ok && n.GetAttr()[name].GetType() != tfproto.DataType_DT_STRING
	})
	if len(rules) == 0 {
		return nil
	}
	var ok bool
	if c.types, ok = inputTypes(n); !ok {
		return millrace.Errorf(millrace.ErrModel, "operation %s (%s) leaves the types of its inputs to the caller of a function; it must have them itself",
			millrace.Quote(n.GetName()), n.GetOp())
	}
	for _, r := range forInputs(rules, len(c.types)) {
		if name, value := r.Attr(); name != "" && n.GetAttr()[name] != nil && n.GetAttr()[name].GetI() != value {
			continue
		}
		if !c.takes(r) {
			continue // TensorFlow refuses the node because it has too few inputs
		}
		if input, attr, ok := r.Handle(); ok {
			if err := c.keepHandle(input, attr); err != nil {
				return err
			}
			continue
		}
		if c.proves(r) {
			continue
		}
		if input, rank, ok := r.Rank(); ok {
			c.ranks = append(c.ranks, c.ensureRank(input, rank)...)
			continue
		}
		if input, rank, ok := r.AtMost(); ok {
			c.limitDims(input, rank)
			continue
		}
		c.require(r)
	}
	return nil
}

// limitDims checks the rank of an input in an operation that has no other input: it then needs no
// call into Go. An input that is a variant cannot be passed on, so the node waits for a check of its rank.
func (c *check) limitDims(input, rank int) {
	n, dt := c.node, c.types[input]
	name, from := c.name(checkName), n.GetInput()[input]
	made, passed := rankCheck(rankOf{name: name, op: n.GetOp(), node: n.GetName(), tensor: from, dt: dt, input: input, most: rank, function: c.function})
	for _, m := range made {
		m.Device = n.GetDevice()
	}
	if c.limited = append(c.limited, made...); passed == "" {
		n.Input = append(n.Input, "^"+name)
		return
	}
	n.Input[input] = c.ref(name, "checked")
}

// require adds a rule to the check.
func (c *check) require(r argcheck.Rule) {
	c.spec.Rules = append(c.spec.Rules, r.String())
	for _, i := range r.Inputs() {
		if i != wasAssigned && !slices.Contains(c.spec.Inputs, i) {
			c.spec.Inputs = append(c.spec.Inputs, i)
		}
	}
}

// forInputs returns the rules of an operation with n inputs.
func forInputs(rules []argcheck.Rule, n int) (all []argcheck.Rule) {
	for _, r := range rules {
		all = append(all, r.For(n)...)
	}
	return all
}

// read returns an operation that reads the variable of a handle. It returns an error if
// the variable has another dtype, which the kernel after it would not notice. It waits
// for the same operations as the kernel, such as the first assignment.
func (c *check) read(input int, dt *tfproto.AttrValue) *tfproto.NodeDef {
	n := c.node
	inputs := []string{n.GetInput()[input]}
	data := len(dataInputs(n))
	for _, in := range n.GetInput()[:data] {
		name := nodeOf(in)
		isArgument := slices.ContainsFunc(c.function.GetInputArg(), func(a *tfproto.OpDef_ArgDef) bool { return a.GetName() == name })
		if wait := "^" + name; !isArgument && !slices.Contains(inputs, wait) && !slices.Contains(n.GetInput(), wait) {
			inputs = append(inputs, wait)
		}
	}
	return &tfproto.NodeDef{Name: c.name(readName), Op: "ReadVariableOp", Device: n.GetDevice(), Input: append(inputs, n.GetInput()[data:]...),
		Attr: map[string]*tfproto.AttrValue{"dtype": dt}}
}

// requireText adds a rule in the format of package argcheck to the check.
func (c *check) requireText(rule string) error {
	var ok bool
	if c.types, ok = inputTypes(c.node); !ok {
		return millrace.Errorf(millrace.ErrModel, "operation %s (%s) leaves the types of its inputs to the caller of a function; it must have them itself",
			millrace.Quote(c.node.GetName()), c.node.GetOp())
	}
	r, err := argcheck.Parse(rule)
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "rule of operation %s: %w", millrace.Quote(c.node.GetName()), err)
	}
	c.require(r)
	return nil
}

// takes reports whether the node has all inputs that a rule reads.
func (c *check) takes(r argcheck.Rule) bool {
	return !slices.ContainsFunc(r.Inputs(), func(i int) bool {
		return i >= len(c.types) || i >= len(c.node.GetInput()) || strings.HasPrefix(c.node.GetInput()[i], "^")
	})
}

// proves reports whether the inputs that a rule reads are constants that meet it, or
// have the rank that it requires.
func (c *check) proves(r argcheck.Rule) bool {
	if input, rank, ok := r.Rank(); ok && rank > 0 && c.flow.rank(c.function.GetName(), c.node.GetInput()[input], 0) == rank {
		return true
	}
	if input, rank, ok := r.AtMost(); ok && c.flow.mostDims(c.function.GetName(), c.node.GetInput()[input]) <= rank {
		return true
	}
	if input, size, ok := r.SizeAtMost(); ok && c.flow.mostElements(c.function.GetName(), c.node.GetInput()[input]) <= size {
		return true
	}
	args := map[int]argcheck.Arg{}
	for _, i := range r.Inputs() {
		a, ok := c.flow.constant(c.function.GetName(), c.node.GetInput()[i])
		if rank := c.flow.rank(c.function.GetName(), c.node.GetInput()[i], 0); !ok && rank > 0 && r.OfRanks() {
			a, ok = argcheck.Arg{Shape: make([]int64, rank)}, true
		}
		if !ok {
			return false
		}
		args[i] = a
	}
	return r.Check(func(i int) argcheck.Arg { return args[i] }) == nil
}

// passed returns the input that the check passes on, -1 if there is none. It is neither
// a handle nor a variant, since those cannot be copied. If possible it is one that the
// rules read, because shape functions need other inputs to stay constants.
func (c *check) passed() int {
	for _, i := range c.spec.Inputs {
		if copyable(c.types[i]) {
			return i
		}
	}
	return slices.IndexFunc(c.types, copyable)
}

// make returns the nodes of the check, none if there is nothing to check.
func (c *check) make() ([]*tfproto.NodeDef, error) {
	if len(c.spec.Rules)+len(c.reads) == 0 {
		return c.ranks, nil
	}
	n := c.node
	passed := c.passed()
	if passed < 0 || passed >= len(n.GetInput()) {
		return nil, millrace.Errorf(millrace.ErrInternal, "operation %s (%s) has rules and only handles", millrace.Quote(n.GetName()), n.GetOp())
	}
	c.spec.Inputs = slices.DeleteFunc(c.spec.Inputs, func(i int) bool { return i == passed })
	c.spec.Inputs = slices.Insert(c.spec.Inputs, 0, passed)
	c.spec.Op, c.spec.Node = n.GetOp(), n.GetName()
	made := &tfproto.NodeDef{Name: c.name(checkName), Op: tfbridge.OpCheckArguments, Device: n.GetDevice()}
	var others []tfproto.DataType
	for k, i := range c.spec.Inputs {
		made.Input = append(made.Input, n.GetInput()[i])
		if k > 0 {
			others = append(others, c.types[i])
		}
	}
	for i, r := range c.reads {
		c.spec.Inputs = append(c.spec.Inputs, wasAssigned+i)
		made.Input = append(made.Input, c.ref(r.GetName(), "value"))
		others = append(others, r.GetAttr()["dtype"].GetType())
	}
	made.Attr = map[string]*tfproto.AttrValue{
		"check":   text(tfbridge.CheckSpec{Parser: n.GetName(), Arguments: &c.spec}.Attr()),
		"T":       {Value: &tfproto.AttrValue_Type{Type: c.types[passed]}},
		"Tothers": {Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Type: others}}},
	}
	n.Input[passed] = c.ref(made.GetName(), "checked")
	return append(append(c.ranks, c.reads...), made), nil
}

// definitions are TensorFlow's operations that have rules.
var definitions = sync.OnceValue(func() map[string]*tfproto.OpDef {
	all := map[string]*tfproto.OpDef{}
	raw, err := tfbridge.OpList()
	list := &tfproto.OpList{}
	if err != nil || proto.Unmarshal(raw, list) != nil {
		return nil
	}
	for _, op := range list.GetOp() {
		if len(argcheck.Of(op.GetName())) > 0 || op.GetName() == generatorOp {
			all[op.GetName()] = op
		}
	}
	return all
})

// inputTypes returns the types of a node's inputs. ok is false if an attribute does
// not hold one.
func inputTypes(n *tfproto.NodeDef) (types []tfproto.DataType, ok bool) {
	def := definitions()[n.GetOp()]
	for _, arg := range def.GetInputArg() {
		if list := arg.GetTypeListAttr(); list != "" {
			of := attrOrDefault(n, def, list)
			if of.GetPlaceholder() != "" {
				return nil, false
			}
			types = append(types, of.GetList().GetType()...)
			continue
		}
		dt, times := arg.GetType(), int64(1)
		if arg.GetTypeAttr() != "" {
			dt = attrOrDefault(n, def, arg.GetTypeAttr()).GetType()
		}
		if count := arg.GetNumberAttr(); count != "" {
			if times = attrOrDefault(n, def, count).GetI(); times > int64(len(n.GetInput())) {
				return nil, false
			}
		}
		if dt == 0 || times < 0 {
			return nil, false
		}
		types = append(types, slices.Repeat([]tfproto.DataType{dt}, int(times))...)
	}
	return types, def != nil
}

// attrOrDefault returns an attribute of a node, or its default.
func attrOrDefault(n *tfproto.NodeDef, def *tfproto.OpDef, name string) *tfproto.AttrValue {
	if v := n.GetAttr()[name]; v != nil {
		return v
	}
	for _, a := range def.GetAttr() {
		if a.GetName() == name {
			return a.GetDefaultValue()
		}
	}
	return nil
}

// keepDims requires that the vector which Fill takes as a shape has at most 254 elements,
// and hides its length: TensorFlow's optimizer ends the process for more.
func (c *check) keepDims() error {
	n := c.node
	if n.GetOp() != "Fill" || len(dataInputs(n)) != 2 || c.flow.mostElements(c.function.GetName(), n.GetInput()[0]) <= anyDims {
		return nil
	}
	c.hides = true
	return c.requireText(fmt.Sprintf("size(0)<=%d", anyDims))
}
