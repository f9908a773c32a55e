package opeffect

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
)

// builder makes the graph of a call.
type builder struct {
	ops       map[string]*tfproto.OpDef // all that TensorFlow registers
	lets      map[string]let
	constants bool // values are constants, and known before the run

	graph   tfproto.GraphDef
	handles map[string]*tfproto.NodeDef
	after   []string // operations that fill handles
}

// output is an output of a node that is an input of another.
type output struct {
	name string
	dt   tfproto.DataType
}

// build returns the graph of a call: the operation "called", and "done", which runs after
// it.
func (b *builder) build(c call) (*tfproto.GraphDef, error) {
	b.handles = map[string]*tfproto.NodeDef{}
	called, err := b.node("called", c)
	if err != nil {
		return nil, err
	}
	called.Input = append(called.Input, b.after...)
	last := b.consume(called)
	done := b.constant("result", argument{letter: "f"})
	b.add("done", "Identity", []string{done, "^" + last}, map[string]*tfproto.AttrValue{"T": typeAttr(f32)})
	b.graph.Versions = &tfproto.VersionDef{Producer: 2474}
	return &b.graph, nil
}

func (b *builder) add(name, op string, inputs []string, attrs map[string]*tfproto.AttrValue) *tfproto.NodeDef {
	n := &tfproto.NodeDef{Name: name, Op: op, Input: inputs, Attr: attrs}
	b.graph.Node = append(b.graph.Node, n)
	return n
}

// constant adds a tensor, and returns its node.
func (b *builder) constant(name string, a argument) string {
	dt := typeAttr(letters[a.letter])
	b.add(name, "Const", nil, map[string]*tfproto.AttrValue{"dtype": dt, "value": {Value: &tfproto.AttrValue_Tensor{Tensor: a.tensor()}}})
	if b.constants || a.constant {
		return name
	}
	return b.add(name+"_given", "PlaceholderWithDefault", []string{name}, map[string]*tfproto.AttrValue{"dtype": dt,
		"shape": {Value: &tfproto.AttrValue_Shape{Shape: &tfproto.TensorShapeProto{UnknownRank: true}}}}).Name
}

func typeAttr(dt tfproto.DataType) *tfproto.AttrValue {
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: dt}}
}

// node adds the node of a call.
func (b *builder) node(name string, c call) (*tfproto.NodeDef, error) {
	def := b.ops[c.op]
	if def == nil {
		return nil, fmt.Errorf("no operation %s", c.op)
	}
	var inputs []output
	for i, text := range c.args {
		in, err := b.input(fmt.Sprintf("%s_%d", name, i), text)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, in)
	}
	n := &tfproto.NodeDef{Name: name, Op: c.op, Attr: map[string]*tfproto.AttrValue{}}
	for _, text := range c.attrs {
		key, v, _ := strings.Cut(text, "=")
		i := slices.IndexFunc(def.Attr, func(a *tfproto.OpDef_AttrDef) bool { return a.Name == key })
		if i >= 0 {
			n.Attr[key] = b.attr(def.Attr[i].Type, v)
		}
	}
	for _, in := range inputs {
		n.Input = append(n.Input, in.name)
	}
	inferAttrs(n, def, inputs)
	b.graph.Node = append(b.graph.Node, n)
	return n, nil
}

// input adds what a call takes.
func (b *builder) input(name, text string) (output, error) {
	if a, ok := parseArgument(text); ok {
		return output{b.constant(name, a), letters[a.letter]}, nil
	}
	key, index, _ := strings.Cut(strings.TrimPrefix(text, "@"), ":")
	n := b.handles[key]
	if n == nil {
		kind, _, _ := strings.Cut(key, "#")
		l, ok := b.lets[kind]
		if !ok {
			return output{}, fmt.Errorf("no handle %s", text)
		}
		var err error
		if n, err = b.node("handle_"+strings.ReplaceAll(key, "#", "_"), l.call); err != nil {
			return output{}, err
		}
		b.handles[key] = n
		if l.then != nil {
			b.handles["self"] = n
			filled, err := b.node(n.Name+"_filled", *l.then)
			if err != nil {
				return output{}, err
			}
			b.after = append(b.after, "^"+filled.Name)
		}
	}
	k, _ := strconv.Atoi(index)
	types := outputTypes(n, b.ops[n.Op])
	if k >= len(types) {
		return output{}, fmt.Errorf("%s: %s has %d outputs", text, n.Op, len(types))
	}
	in := output{n.Name, types[k]}
	if k > 0 {
		in.name = fmt.Sprint(n.Name, ":", k)
	}
	return in, nil
}

// inferAttrs sets the types and numbers that follow from the inputs.
func inferAttrs(n *tfproto.NodeDef, def *tfproto.OpDef, inputs []output) {
	for i, arg := range def.InputArg {
		count := 1
		if arg.NumberAttr != "" || arg.TypeListAttr != "" {
			count = len(inputs) - (len(def.InputArg) - i - 1) // as many as the others leave
			switch {
			case n.Attr[arg.NumberAttr] != nil:
				count = int(n.Attr[arg.NumberAttr].GetI())
			case n.Attr[arg.TypeListAttr] != nil:
				count = len(n.Attr[arg.TypeListAttr].GetList().GetType())
			case arg.NumberAttr != "" && slices.ContainsFunc(def.InputArg[i+1:], func(a *tfproto.OpDef_ArgDef) bool { return a.NumberAttr == arg.NumberAttr }):
				count = len(inputs) / sharing(def, arg.NumberAttr)
			}
		}
		count = max(0, min(count, len(inputs)))
		mine := inputs[:count]
		inputs = inputs[count:]
		if arg.NumberAttr != "" {
			setAttr(n, arg.NumberAttr, &tfproto.AttrValue{Value: &tfproto.AttrValue_I{I: int64(count)}})
		}
		if arg.TypeAttr != "" && count > 0 {
			setAttr(n, arg.TypeAttr, typeAttr(mine[0].dt))
		}
		if arg.TypeListAttr != "" {
			list := &tfproto.AttrValue_ListValue{}
			for _, in := range mine {
				list.Type = append(list.Type, in.dt)
			}
			setAttr(n, arg.TypeListAttr, &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: list}})
		}
	}
}

// sharing returns how many arguments have the same number of tensors.
func sharing(def *tfproto.OpDef, attr string) (n int) {
	for _, a := range def.InputArg {
		if a.NumberAttr == attr {
			n++
		}
	}
	return n
}

func setAttr(n *tfproto.NodeDef, name string, v *tfproto.AttrValue) {
	if n.Attr[name] == nil {
		n.Attr[name] = v
	}
}

// outputTypes returns the types of a node's outputs.
func outputTypes(n *tfproto.NodeDef, def *tfproto.OpDef) (types []tfproto.DataType) {
	attr := func(name string) *tfproto.AttrValue {
		if v := n.Attr[name]; v != nil {
			return v
		}
		for _, a := range def.Attr {
			if a.Name == name {
				return a.DefaultValue
			}
		}
		return nil
	}
	for _, out := range def.OutputArg {
		count := 1
		if out.NumberAttr != "" {
			count = int(attr(out.NumberAttr).GetI())
		}
		switch {
		case out.TypeListAttr != "":
			types = append(types, attr(out.TypeListAttr).GetList().GetType()...)
		case out.TypeAttr != "":
			types = append(types, slices.Repeat([]tfproto.DataType{attr(out.TypeAttr).GetType()}, max(0, count))...)
		default:
			types = append(types, slices.Repeat([]tfproto.DataType{out.Type}, max(0, count))...)
		}
	}
	return types
}

// attr parses an attribute of a type.
func (b *builder) attr(kind, text string) *tfproto.AttrValue {
	if of, ok := strings.CutPrefix(kind, "list("); ok {
		list := &tfproto.AttrValue_ListValue{}
		separator := ","
		if of == "shape)" {
			separator = ":"
		}
		if of == "func)" {
			separator = ";"
		}
		inner := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
		for _, item := range strings.Split(inner, separator) {
			if inner == "" {
				break
			}
			switch v := b.attr(strings.TrimSuffix(of, ")"), item); of {
			case "type)":
				list.Type = append(list.Type, v.GetType())
			case "int)":
				list.I = append(list.I, v.GetI())
			case "float)":
				list.F = append(list.F, v.GetF())
			case "bool)":
				list.B = append(list.B, v.GetB())
			case "string)":
				list.S = append(list.S, v.GetS())
			case "shape)":
				list.Shape = append(list.Shape, v.GetShape())
			case "func)":
				list.Func = append(list.Func, v.GetFunc())
			}
		}
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: list}}
	}
	switch kind {
	case "type":
		return typeAttr(tfproto.DataType(tfproto.DataType_value["DT_"+strings.ToUpper(text)]))
	case "int":
		v, _ := strconv.ParseInt(text, 10, 64)
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_I{I: v}}
	case "float":
		v, _ := strconv.ParseFloat(text, 32)
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_F{F: float32(v)}}
	case "bool":
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_B{B: text == "true"}}
	case "shape":
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_Shape{Shape: attrShape(text)}}
	case "tensor":
		a, _ := parseArgument(text)
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_Tensor{Tensor: a.tensor()}}
	case "func":
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: b.function(text)}}}
	}
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_S{S: []byte(text)}}
}

// attrShape parses a shape.
func attrShape(text string) *tfproto.TensorShapeProto {
	switch text {
	case "?":
		return &tfproto.TensorShapeProto{UnknownRank: true}
	case ".":
		return &tfproto.TensorShapeProto{}
	}
	return shapeProto(numbersOf(text))
}

var functionForm = regexp.MustCompile(`^fn\(([^>]*)>([^>]*)\)$`)

// function adds a function, and returns its name. It returns arguments where they fit,
// and constants otherwise.
func (b *builder) function(text string) string {
	m := functionForm.FindStringSubmatch(text)
	name := fmt.Sprint("function", len(b.graph.GetLibrary().GetFunction()))
	if m == nil {
		return name
	}
	f := &tfproto.FunctionDef{Signature: &tfproto.OpDef{Name: name}, Ret: map[string]string{}}
	var in []string
	if m[1] != "" {
		in = strings.Split(m[1], ",")
	}
	for i, letter := range in {
		f.Signature.InputArg = append(f.Signature.InputArg, &tfproto.OpDef_ArgDef{Name: fmt.Sprint("arg", i), Type: letters[letter]})
	}
	for i, item := range strings.Split(m[2], ",") {
		out, letter, value := fmt.Sprint("out", i), item[:1], item[1:]
		f.Signature.OutputArg = append(f.Signature.OutputArg, &tfproto.OpDef_ArgDef{Name: out, Type: letters[letter]})
		at := slices.Index(in, letter)
		if at >= 0 {
			f.Ret[out] = fmt.Sprint("arg", at)
			continue
		}
		f.Ret[out] = functionValue(f, out, letter, value)
	}
	if b.graph.Library == nil {
		b.graph.Library = &tfproto.FunctionDefLibrary{}
	}
	b.graph.Library.Function = append(b.graph.Library.Function, f)
	return name
}

// functionValue adds a constant to a function, or a dataset of two numbers.
func functionValue(f *tfproto.FunctionDef, out, letter, value string) string {
	of := argument{letter: letter}
	if value != "" {
		of.texts = []string{value}
	}
	if letter == "v" {
		of = argument{letter: "f", shape: []int64{2}}
	}
	f.NodeDef = append(f.NodeDef, &tfproto.NodeDef{Name: out + "_value", Op: "Const", Attr: map[string]*tfproto.AttrValue{
		"dtype": typeAttr(letters[of.letter]), "value": {Value: &tfproto.AttrValue_Tensor{Tensor: of.tensor()}}}})
	if letter != "v" {
		return out + "_value:output:0"
	}
	f.NodeDef = append(f.NodeDef, &tfproto.NodeDef{Name: out + "_data", Op: "TensorSliceDataset", Input: []string{out + "_value:output:0"},
		Attr: map[string]*tfproto.AttrValue{
			"Toutput_types": {Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Type: []tfproto.DataType{f32}}}},
			"output_shapes": {Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Shape: []*tfproto.TensorShapeProto{{}}}}},
		}})
	return out + "_data:handle:0"
}

// users are operations that use the variants of others, by the beginnings of their names.
// TensorFlow's optimizer removes operations whose outputs nothing uses.
var users = map[string]string{
	"RaggedTensorToVariant": "RaggedTensorFromVariant input_ragged_rank=0 output_ragged_rank=1 Tvalues=float Tsplits=int64", "TensorMap": "TensorMapSize", "EmptyTensorMap": "TensorMapSize",
	"Optional": "OptionalHasValue", "IteratorGetNextAsOptional": "OptionalHasValue", "DenseToCSR": "SparseMatrixNNZ", "SparseTensorToCSR": "SparseMatrixNNZ",
	"SparseMatrix": "SparseMatrixNNZ", "CompressElement": "UncompressElement output_types=[float] output_shapes=[?]",
	"CompositeTensorVariantFrom": "CompositeTensorVariantToComponents metadata= Tcomponents=[float]",
	"WrapDatasetVariant":         "UnwrapDatasetVariant",
}

var datasetForm = regexp.MustCompile(`Dataset(V\d+)?$`)

// consume adds operations that use what the called one makes: a dataset is read, a list
// is stacked, a frame is left. It returns the last operation.
func (b *builder) consume(n *tfproto.NodeDef) string {
	def := b.ops[n.Op]
	switch {
	case n.Op == "Enter" || n.Op == "RefEnter":
		dt := typeAttr(outputTypes(n, def)[0])
		return b.add("left", strings.Replace(n.Op, "Enter", "Exit", 1), []string{n.Name}, map[string]*tfproto.AttrValue{"T": dt}).Name
	case len(def.OutputArg) == 0 || def.OutputArg[0].Type != variant:
		return n.Name
	case strings.HasPrefix(n.Op, "TensorList") || n.Op == "EmptyTensorList":
		shape := b.constant("any", argument{letter: "i", texts: []string{"-1"}})
		return b.add("stacked", "TensorListStack", []string{n.Name, shape}, map[string]*tfproto.AttrValue{"element_dtype": typeAttr(f32)}).Name
	case !datasetForm.MatchString(n.Op):
		for prefix, user := range users {
			if strings.HasPrefix(n.Op, prefix) {
				op, attrs, _ := strings.Cut(user, " ")
				c := call{op: op, attrs: strings.Fields(attrs)}
				used, err := b.node("used", c)
				if err == nil {
					used.Input = []string{n.Name}
				}
				return "used"
			}
		}
		return n.Name
	}
	var types []tfproto.DataType
	for _, name := range []string{"output_types", "Toutput_types"} {
		types = append(types, n.Attr[name].GetList().GetType()...)
	}
	if n.Op == "SparseTensorSliceDataset" {
		types = []tfproto.DataType{i64, n.Attr["Tvalues"].GetType(), i64}
	}
	return b.read(n, types)
}

// read adds operations that read five elements of a dataset.
func (b *builder) read(n *tfproto.NodeDef, types []tfproto.DataType) string {
	f := &tfproto.FunctionDef{Signature: &tfproto.OpDef{Name: "count", OutputArg: []*tfproto.OpDef_ArgDef{{Name: "out", Type: i64}}}, Ret: map[string]string{"out": "arg0"}}
	shapes := &tfproto.AttrValue_ListValue{}
	for i, dt := range append([]tfproto.DataType{i64}, types...) {
		f.Signature.InputArg = append(f.Signature.InputArg, &tfproto.OpDef_ArgDef{Name: fmt.Sprint("arg", i), Type: dt})
		if i > 0 {
			shapes.Shape = append(shapes.Shape, &tfproto.TensorShapeProto{UnknownRank: true})
		}
	}
	if b.graph.Library == nil {
		b.graph.Library = &tfproto.FunctionDefLibrary{}
	}
	b.graph.Library.Function = append(b.graph.Library.Function, f)
	list := func(v *tfproto.AttrValue_ListValue) *tfproto.AttrValue {
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: v}}
	}
	attrs := map[string]*tfproto.AttrValue{"output_types": list(&tfproto.AttrValue_ListValue{Type: types}), "output_shapes": list(shapes)}
	five := b.constant("five", argument{letter: "l", texts: []string{"5"}})
	b.add("taken", "TakeDataset", []string{n.Name, five}, maps.Clone(attrs))
	attrs = map[string]*tfproto.AttrValue{
		"f": {Value: &tfproto.AttrValue_Func{Func: &tfproto.NameAttrList{Name: "count"}}}, "Targuments": list(&tfproto.AttrValue_ListValue{}),
		"Tstate": list(&tfproto.AttrValue_ListValue{Type: []tfproto.DataType{i64}}), "output_types": list(&tfproto.AttrValue_ListValue{Type: []tfproto.DataType{i64}}),
		"output_shapes": list(&tfproto.AttrValue_ListValue{Shape: []*tfproto.TensorShapeProto{{}}}),
	}
	return b.add("read", "ReduceDataset", []string{"taken", five}, attrs).Name
}

// marshal returns the graph in its serialized form.
func marshal(g *tfproto.GraphDef) ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(g)
}
