package policy

import (
	"slices"

	"millrace/dtype"
	"millrace/internal/base/wire"
	"millrace/savedmodel/message"
	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// callTypes lists the operations that declare the types of the functions that they
// call: the attributes with the functions, the argument types and the result types. The
// function must have the same types, because kernels rely on it.
var callTypes = map[string][]struct{ function, arguments, results string }{
	"PartitionedCall":         {{"f", "Tin", "Tout"}},
	"StatefulPartitionedCall": {{"f", "Tin", "Tout"}},
	"If":                      {{"then_branch", "Tin", "Tout"}, {"else_branch", "Tin", "Tout"}},
	"StatelessIf":             {{"then_branch", "Tin", "Tout"}, {"else_branch", "Tin", "Tout"}},
	"Case":                    {{"branches", "Tin", "Tout"}},
	"StatelessCase":           {{"branches", "Tin", "Tout"}},
	"While":                   {{"cond", "T", ""}, {"body", "T", "T"}},
	"StatelessWhile":          {{"cond", "T", ""}, {"body", "T", "T"}},
}

// callCheck checks the types of calls.
type callCheck struct{ *callGraph }

// check refuses a call whose types differ from the called function's.
func (c callCheck) check(n metagraph.Node) error {
	for _, call := range callTypes[n.Op] {
		for _, name := range metagraph.OuterFunctions(n.Attr(call.function)) {
			fn := c.m.Functions[name]
			if fn == nil {
				continue
			}
			for _, side := range []struct {
				what, attr string
				args       []metagraph.Arg
			}{{"takes", call.arguments, fn.Inputs}, {"returns", call.results, fn.Outputs}} {
				types, ok := message.AttrTypes(n.Attr(side.attr))
				if i, has, want := differ(types, side.args); ok && i >= 0 {
					return c.r.Fail("node %s (%s): function %s %s %s, and attribute %s says %s (number %d)",
						modelfile.Quote(n.Name), modelfile.Quote(n.Op), modelfile.Quote(name), side.what, want, side.attr, has, i)
				}
			}
		}
	}
	return nil
}

// conditionTypes are the dtypes that the condition of a branch or a loop may have:
// those that TensorFlow converts to a bool. For other dtypes its kernel ends the
// process.
var conditionTypes = []dtype.DataType{dtype.Bool, dtype.Int8, dtype.Uint8, dtype.Int16, dtype.Int32, dtype.Int64, dtype.Float, dtype.Double, dtype.String}

// checkCondition refuses a branch or a loop whose condition has another dtype.
func (c callCheck) checkCondition(n metagraph.Node) error {
	refuse := func(t int32) error {
		if t == 0 || slices.Contains(conditionTypes, dtype.DataType(t)) {
			return nil
		}
		return c.r.Fail("node %s (%s) decides by a value of dtype %s, which is neither true nor false", modelfile.Quote(n.Name), modelfile.Quote(n.Op), dtype.DataType(t))
	}
	switch n.Op {
	case "If", "StatelessIf":
		if t, ok := message.AttrType(n.Attr("Tcond")); ok {
			return refuse(t)
		}
	case "While", "StatelessWhile":
		for _, name := range n.FunctionsOf("cond") {
			if fn := c.m.Functions[name]; fn != nil && len(fn.Outputs) > 0 {
				if err := refuse(fn.Outputs[0].Type); err != nil {
					return err
				}
			}
		}
	}
	return c.checkBound(n)
}

// checkBound refuses calls in which an attribute makes an argument repeat unreasonably
// often.
func (c callCheck) checkBound(n metagraph.Node) error {
	for _, a := range n.Attrs {
		err := message.Each(a.Value, message.AttrValueType(), func(b []byte, m *message.Type) error {
			if m.Name != "NameAttrList" {
				return nil
			}
			name, _ := message.Find(b, message.FuncName)
			fn := c.m.Functions[string(name.Bytes)]
			for f := range wire.Fields(b) {
				if fn == nil || f.Num != message.FuncAttr {
					continue
				}
				attr, value := message.MapEntry(f.Bytes)
				if v, ok := message.AttrInt(value); ok && slices.Contains(fn.Counts, attr) && (v < 0 || v > metagraph.MaxOutputs) {
					return c.r.Limit("node %s (%s): attribute %s of function %s is %d: an argument repeats at most %d times",
						modelfile.Quote(n.Name), modelfile.Quote(n.Op), modelfile.Quote(attr), modelfile.Quote(fn.Name), v, metagraph.MaxOutputs)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// differ returns the first position at which types differ from the arguments', and both
// types; -1 if all agree, or if the caller decides some of them.
func differ(types []int32, args []metagraph.Arg) (at int, has, want string) {
	nameAt := func(i, n int, typ func() int32) string {
		if i >= n {
			return "nothing"
		}
		return dtype.DataType(typ()).String()
	}
	if slices.ContainsFunc(args, func(a metagraph.Arg) bool { return a.List || a.Type == 0 }) {
		return -1, "", ""
	}
	for i := range max(len(types), len(args)) {
		has := nameAt(i, len(types), func() int32 { return types[i] })
		want := nameAt(i, len(args), func() int32 { return args[i].Type })
		if has != want {
			return i, has, want
		}
	}
	return -1, "", ""
}
