package opgen

import (
	"fmt"
	"regexp"
	"strings"

	"millrace/internal/base/tfproto"
)

// datasetOp matches the names of operations that make datasets, as TensorFlow
// names them: MyReaderDataset, and MyReaderDatasetV2 after a change.
var datasetOp = regexp.MustCompile(`^(.+)Dataset(V[0-9]+)?$`)

// inputDataset matches the names of inputs that are datasets.
var inputDataset = regexp.MustCompile(`(^|_)dataset$`)

// The attributes of most dataset operations that describe their elements.
const (
	outputTypes  = "output_types"
	outputShapes = "output_shapes"
)

// source returns a function that makes a *dataset.Dataset of an operation, ""
// if the operation makes none. It is called like the operation, without
// "Dataset".
func (w *wrapper) source(f *function) string {
	match := datasetOp.FindStringSubmatch(f.name)
	if match == nil || len(f.outputs) != 1 || f.outputs[0].list() || f.outputs[0].def.Type != tfproto.DataType_DT_VARIANT {
		return ""
	}
	name := match[1]
	if _, taken := w.declared[name]; taken {
		name = "New" + f.name
	}
	w.declared[name] = f.op.Name
	return f.source(name)
}

// source returns the function of that name. It has the operation's parameters except
// output_types and output_shapes, which follow from the specs of the elements; inputs
// that are datasets are of type *dataset.Dataset.
func (f *function) source(name string) string {
	params, args := []string{"scope *graph.Scope"}, []string{"scope"}
	param := func(id, typ, arg string) { params, args = append(params, id+" "+typ), append(args, arg) }
	for _, a := range f.inputs {
		if a.def.Type == tfproto.DataType_DT_VARIANT && !a.list() && inputDataset.MatchString(a.def.Name) {
			param(a.id, "*dataset.Dataset", a.id+".Variant()")
		} else {
			param(a.id, a.typ(), a.id)
		}
	}
	for _, a := range f.required {
		switch {
		case a.def.Name == outputTypes && a.def.Type == "list(type)":
			args = append(args, "graph.DTypes(elements)")
		case a.def.Name == outputShapes && a.def.Type == "list(shape)":
			args = append(args, "graph.Shapes(elements)")
		default:
			param(a.id, a.typ, a.id)
		}
	}
	params = append(params, "elements []graph.Spec")
	if len(f.optional) > 0 {
		params, args = append(params, "optional ..."+f.name+"Attr"), append(args, "optional...")
	}
	c := &commentWriter{}
	c.wrap("", fmt.Sprintf("%s returns the dataset that [%s] makes. The specs of the elements must be those that the operation has.", name, f.name))
	return fmt.Sprintf("\n%sfunc %s(%s) *dataset.Dataset {\n\treturn dataset.FromVariant(scope, %s(%s), elements)\n}\n",
		c.String(), name, strings.Join(params, ", "), f.name, strings.Join(args, ", "))
}
