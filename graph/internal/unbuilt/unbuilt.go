// Package unbuilt makes the results of calls that add nothing to a graph because its
// scope has failed. Programs check for the failure at the end. Until then they index
// the results, so a list of outputs must not be shorter than it would have been without
// the failure:
//
//	parts := s.Op("Split", map[string]any{"num_split": 2}, axis, x)
//	y := graph.Add(s, parts[0], parts[1]) // the zero Output twice, if s has failed
//
// The definition of an operation, its attributes and its inputs say how many outputs
// it has. Where they do not, for example because an attribute is missing or there is no
// such operation, a list has [Many] elements. A shorter list would need the programmer
// to look at the failure first; an error in its place would end all calls that chain.
package unbuilt

import (
	"reflect"

	"google.golang.org/protobuf/proto"

	"millrace/dtype"
	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// Many is the length of a list whose real length cannot be determined: more than
// programs index by hand.
const Many = 1024

// Outputs returns n zero Outputs, Many if n is 0 or negative.
func Outputs(n int) []tfbridge.Output {
	if n <= 0 {
		n = Many
	}
	return make([]tfbridge.Output, n)
}

// Specs returns the specs of unknown outputs: of any data type and shape.
func Specs() []dtype.TensorSpec { return make([]dtype.TensorSpec, Many) }

// OutputsOf returns a zero Output for each output of an operation.
func OutputsOf(g *tfbridge.Graph, spec tfbridge.OpSpec) []tfbridge.Output {
	total := 0
	def := definition(g, spec.Type)
	for _, out := range def.GetOutputArg() {
		n, ok := length(def, out, spec)
		if !ok {
			return Outputs(Many)
		}
		total += n
	}
	if def == nil {
		total = Many
	}
	return make([]tfbridge.Output, total)
}

// List returns a zero Output for each element of a named output of list type.
func List(g *tfbridge.Graph, spec tfbridge.OpSpec, name string) []tfbridge.Output {
	def := definition(g, spec.Type)
	for _, out := range def.GetOutputArg() {
		if out.GetName() != name {
			continue
		}
		if n, ok := length(def, out, spec); ok {
			return make([]tfbridge.Output, n)
		}
	}
	return Outputs(Many)
}

// definition returns the definition of an operation type, nil if there is none.
func definition(g *tfbridge.Graph, opType string) *tfproto.OpDef {
	if g == nil {
		return nil
	}
	data, err := g.OpDef(opType)
	def := &tfproto.OpDef{}
	if err != nil || proto.Unmarshal(data, def) != nil {
		return nil
	}
	return def
}

// length returns how many tensors an output of an operation consists of, and whether
// that is known.
func length(def *tfproto.OpDef, out *tfproto.OpDef_ArgDef, spec tfbridge.OpSpec) (int, bool) {
	number, list := out.GetNumberAttr(), out.GetTypeListAttr()
	if number == "" && list == "" {
		return 1, true
	}
	for i, in := range def.GetInputArg() {
		if i < len(spec.Input) && in.GetNumberAttr() == number && in.GetTypeListAttr() == list {
			values, ok := spec.Input[i].(tfbridge.OutputList)
			return len(values), ok
		}
	}
	if list != "" {
		if v := reflect.ValueOf(spec.Attrs[list]); v.Kind() == reflect.Slice {
			return v.Len(), true
		}
		return 0, false
	}
	if v := reflect.ValueOf(spec.Attrs[number]); v.CanInt() && v.Int() >= 0 && v.Int() <= limit {
		return int(v.Int()), true
	}
	return 0, false
}

// limit is how many outputs TensorFlow lets an operation have.
const limit = 1<<16 - 1
