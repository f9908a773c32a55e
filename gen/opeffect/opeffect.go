// Package opeffect derives the effects of operations from TensorFlow's registrations,
// as far as they state them. Its tests compare the result with the reviewed table of
// package savedmodel/effect, and run the kernels to see whether they do what the table
// says.
package opeffect

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
)

// Facts are the effects of an operation that its registration states.
type Facts struct {
	State bool // it is stateful
	Calls bool // an attribute names functions
	Makes bool // an output is a handle or a variant, whatever the inputs are

	Refs    []int // inputs that are references, except those that are handles
	Strings []int // inputs that are strings and name a resource, as in TensorFlow 0.x
	// Free are the attributes that alone decide an output's dtype, and may make it
	// a handle or a variant.
	Free []string
}

// Derive returns the facts about TensorFlow's operations in a serialized OpList.
func Derive(ops []byte) (map[string]Facts, error) {
	var list tfproto.OpList
	if err := proto.Unmarshal(ops, &list); err != nil {
		return nil, err
	}
	all := map[string]Facts{}
	for _, op := range list.Op {
		all[op.Name] = factsOf(op)
	}
	return all, nil
}

func factsOf(op *tfproto.OpDef) Facts {
	f := Facts{State: op.IsStateful}
	for _, a := range op.Attr {
		f.Calls = f.Calls || a.Type == "func" || a.Type == "list(func)"
	}
	var fixed []string // by inputs
	for i, in := range op.InputArg {
		fixed = append(fixed, in.TypeAttr, in.TypeListAttr)
		switch {
		case isStringHandle(op, in):
			f.Strings = append(f.Strings, i)
		case in.IsRef:
			f.Refs = append(f.Refs, i)
		}
	}
	for _, out := range op.OutputArg {
		f.Makes = f.Makes || isHandle(out.Type) || isStringHandle(op, out)
		for _, name := range []string{out.TypeAttr, out.TypeListAttr} {
			if name != "" && !slices.Contains(fixed, name) && mayBeHandle(op, name) && !slices.Contains(f.Free, name) {
				f.Free = append(f.Free, name)
			}
		}
	}
	return f
}

// isStringHandle reports whether an argument is a string that stands for a resource. The
// second version of tensor arrays has handles that are plain strings.
func isStringHandle(op *tfproto.OpDef, a *tfproto.OpDef_ArgDef) bool {
	plain := strings.HasPrefix(op.Name, "TensorArray") && strings.HasSuffix(op.Name, "V2") && strings.HasSuffix(a.Name, "handle")
	return a.Type == tfproto.DataType_DT_STRING && (a.IsRef || plain)
}

// isHandle reports whether a type is that of handles or variants.
func isHandle(t tfproto.DataType) bool {
	return t == tfproto.DataType_DT_RESOURCE || t == tfproto.DataType_DT_VARIANT
}

// mayBeHandle reports whether an attribute may hold such a type.
func mayBeHandle(op *tfproto.OpDef, attr string) bool {
	for _, a := range op.Attr {
		if a.Name == attr {
			allowed := a.GetAllowedValues().GetList().GetType()
			return len(allowed) == 0 || slices.ContainsFunc(allowed, isHandle)
		}
	}
	return true
}
