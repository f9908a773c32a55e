package policy

import (
	"slices"

	"millrace/dtype"
	"millrace/savedmodel/message"
	"millrace/savedmodel/metagraph"
	"millrace/savedmodel/modelfile"
)

// callTypes are the operations that call functions with types of their own: the
// attributes with the functions, with the types of the arguments and of the results.
// A function's types have to be the same. Kernels believe that they are.
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

// check refuses a call whose types are not those of the function that it calls.
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

// differ returns the first position at which types are not those of arguments, and
// both types there; -1 if there is none, or the caller decides some of them.
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
