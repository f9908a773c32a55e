package opgen

import (
	"fmt"
	"slices"
	"strings"

	"millrace/internal/base/tfproto"
)

// function is an operation as a Go function.
type function struct {
	op      *tfproto.OpDef
	style   *style
	name    string // name of the Go function
	summary string
	inputs  []arg
	outputs []arg
	// required attributes are parameters; optional ones have defaults, and a
	// function each.
	required, optional []attr
}

// arg is an input or output.
type arg struct {
	def *tfproto.OpDef_ArgDef
	id  string // Go identifier
}

// list says whether an argument is a list of tensors.
func (a arg) list() bool { return a.def.NumberAttr != "" || a.def.TypeListAttr != "" }

// typ returns the Go type.
func (a arg) typ() string {
	if a.list() {
		return "[]tf.Output"
	}
	return "tf.Output"
}

// attr is an attribute that the inputs do not imply.
type attr struct {
	def *tfproto.OpDef_AttrDef
	id  string // Go identifier, as a parameter or at the end of a function's name
	typ string // Go type
}

// newFunction finds the Go names and types for an operation.
func newFunction(op *tfproto.OpDef, names *Names, style *style) (*function, error) {
	f := &function{op: op, style: style, name: op.Name}
	for _, in := range op.InputArg {
		f.inputs = append(f.inputs, arg{def: in, id: f.identifier(names.arg(op.Name, in.Name))})
	}
	for _, a := range op.Attr {
		if implied(op, a.Name) {
			continue
		}
		typ, ok := attrTypes[a.Type]
		if !ok {
			return nil, fmt.Errorf("attribute %s of %s is of type %q, for which there is no Go type", a.Name, op.Name, a.Type)
		}
		name := names.attr(op.Name, a.Name)
		if a.DefaultValue == nil {
			f.required = append(f.required, attr{a, f.identifier(name), typ.goType})
		} else {
			f.optional = append(f.optional, attr{a, camelCase(name), typ.goType})
		}
	}
	for _, out := range op.OutputArg {
		f.outputs = append(f.outputs, arg{def: out, id: f.free(f.identifier(names.arg(op.Name, out.Name)))})
	}
	return f, nil
}

// free returns an identifier for an output that differs from all parameters.
func (f *function) free(id string) string {
	taken := func(a arg) bool { return a.id == id }
	if slices.ContainsFunc(f.inputs, taken) || slices.ContainsFunc(f.required, func(a attr) bool { return a.id == id }) {
		return id + "_out"
	}
	return id
}

// implied reports whether the inputs determine an attribute.
func implied(op *tfproto.OpDef, attr string) bool {
	return slices.ContainsFunc(op.InputArg, func(in *tfproto.OpDef_ArgDef) bool {
		return in.TypeAttr == attr || in.TypeListAttr == attr || in.NumberAttr == attr
	})
}

// attrTypes has the Go type of each attribute type, and the name of its values in
// comments.
var attrTypes = map[string]struct{ goType, says string }{
	"int":          {"int64", "a number"},
	"list(int)":    {"[]int64", "a list of numbers"},
	"float":        {"float32", "a number"},
	"list(float)":  {"[]float32", "a list of numbers"},
	"bool":         {"bool", "true or false"},
	"list(bool)":   {"[]bool", "a list of true and false"},
	"string":       {"string", "a string"},
	"list(string)": {"[]string", "a list of strings"},
	"type":         {"tf.DataType", "a data type"},
	"list(type)":   {"[]tf.DataType", "a list of data types"},
	"shape":        {"tf.Shape", "a shape"},
	"list(shape)":  {"[]tf.Shape", "a list of shapes"},
	"tensor":       {"*tf.Tensor", "a tensor, which stays the caller's"},
	"list(tensor)": {"[]*tf.Tensor", "a list of tensors, which stay the caller's"},
	"func":         {"tf.FuncName", "a function of the graph"},
	"list(func)":   {"[]tf.FuncName", "a list of functions of the graph"},
}

// reserved are identifiers that mean something else in generated functions. The
// ones before the keywords are the ones that TensorFlow's generator avoids.
const reserved = " tf scope err op " +
	"break default func interface select case defer go map struct chan else goto package switch const fallthrough if range type continue for import return var "

// identifier returns a name as a Go identifier.
func (f *function) identifier(name string) string {
	if strings.Contains(reserved, " "+name+" ") || strings.Contains(f.style.reserved, " "+name+" ") {
		return name + "_"
	}
	return name
}

// camelCase returns the name of an attribute for the end of a function's name.
func camelCase(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		if w != "" {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "")
}
