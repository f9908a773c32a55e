package savedmodel

import (
	"slices"

	"millrace/dtype"
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

// callCheck checks the calls of a judged graph.
type callCheck struct{ *judgement }

// check refuses a call whose types are not those of the function that it calls.
func (j callCheck) check(n nodeDef) error {
	for _, c := range callTypes[n.op] {
		for _, name := range outerFunctions(n.attr(c.function)) {
			fn := j.m.functions[name]
			if fn == nil {
				continue
			}
			for _, side := range []struct {
				what, attr string
				args       []argDef
			}{{"takes", c.arguments, fn.inputs}, {"returns", c.results, fn.outputs}} {
				types, ok := attrTypes(n.attr(side.attr))
				if i, has, want := differ(types, side.args); ok && i >= 0 {
					return j.r.fail("node %s (%s): function %s %s %s, and attribute %s says %s (number %d)",
						quote(n.name), quote(n.op), quote(name), side.what, want, side.attr, has, i)
				}
			}
		}
	}
	return nil
}

// differ returns the first position at which types are not those of arguments, and
// both types there; -1 if there is none, or the caller decides some of them.
func differ(types []int32, args []argDef) (at int, has, want string) {
	nameAt := func(i, n int, typ func() int32) string {
		if i >= n {
			return "nothing"
		}
		return dtype.DataType(typ()).String()
	}
	if slices.ContainsFunc(args, func(a argDef) bool { return a.list || a.typ == 0 }) {
		return -1, "", ""
	}
	for i := range max(len(types), len(args)) {
		has := nameAt(i, len(types), func() int32 { return types[i] })
		want := nameAt(i, len(args), func() int32 { return args[i].typ })
		if has != want {
			return i, has, want
		}
	}
	return -1, "", ""
}
