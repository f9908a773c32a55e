package opeffect

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"millrace/graph"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/soak"
	"millrace/tfbridge"
)

// handles builds a model of one operation that takes handles, references or functions:
// real ones, of fitting and of other kinds and dtypes.
type handles struct {
	*probe
	dt, other tfproto.DataType // most of the graph has dt
	elements  []tfproto.DataType
	nodes     []*tfproto.NodeDef
	functions []*tfproto.FunctionDef
	after     []string // what has to run before the operation
}

// newHandles begins a model.
func newHandles(p *probe) *handles {
	common := []tfproto.DataType{f32, str, i64, i32, boolean, tfproto.DataType_DT_UINT8, tfproto.DataType_DT_DOUBLE, tfproto.DataType_DT_COMPLEX64,
		tfproto.DataType_DT_HALF, tfproto.DataType_DT_QINT8, variant, resource}
	pick := func() tfproto.DataType { return common[min(p.random.IntN(len(common)), p.random.IntN(len(common)))] }
	h := &handles{probe: p, dt: pick(), other: pick()}
	if p.random.IntN(2) == 0 {
		h.other = h.dt
	}
	h.elements = []tfproto.DataType{h.dt}
	if p.random.IntN(6) == 0 {
		h.elements = []tfproto.DataType{h.dt, h.other}
	}
	return h
}

// add adds a node, and returns its name.
func (h *handles) add(op string, inputs []string, attrs map[string]*tfproto.AttrValue) string {
	name := fmt.Sprint("n", len(h.nodes))
	h.nodes = append(h.nodes, &tfproto.NodeDef{Name: name, Op: op, Input: inputs, Attr: attrs})
	return name
}

// value adds a tensor: a constant, or a placeholder whose value is known only at run
// time.
func (h *handles) value(dt tfproto.DataType, shape []int64) string {
	switch dt {
	case resource:
		return h.handle(resources[h.random.IntN(len(resources))])
	case variant:
		return h.handle(variants[h.random.IntN(len(variants))])
	}
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	v := h.oddTensor(tfbridge.DataType(dt), shape, n)
	if h.random.IntN(2) == 0 || v == nil {
		v.Close()
		h.odd = false
		v, _ = h.tensor(tfbridge.DataType(dt), shape)
		h.odd = true
	}
	if v == nil {
		v, _ = tfbridge.NewTensorFromSlice(shape, make([]float32, n))
		dt = f32
	}
	defer v.Close()
	t := &tfproto.TensorProto{Dtype: dt, TensorShape: shapeProto(shape)}
	if words, err := v.Strings(); err == nil && dt == str {
		for _, w := range words {
			t.StringVal = append(t.StringVal, []byte(w))
		}
	} else {
		t.TensorContent, _ = v.Bytes()
		t.TensorContent = slices.Clone(t.TensorContent)
	}
	dtype := &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: dt}}
	c := h.add("Const", nil, map[string]*tfproto.AttrValue{"dtype": dtype, "value": {Value: &tfproto.AttrValue_Tensor{Tensor: t}}})
	if h.random.IntN(3) == 0 {
		return c
	}
	return h.add("PlaceholderWithDefault", []string{c}, map[string]*tfproto.AttrValue{"dtype": dtype,
		"shape": {Value: &tfproto.AttrValue_Shape{Shape: &tfproto.TensorShapeProto{UnknownRank: true}}}})
}

func shapeProto(shape []int64) *tfproto.TensorShapeProto {
	p := &tfproto.TensorShapeProto{}
	for _, d := range shape {
		p.Dim = append(p.Dim, &tfproto.TensorShapeProto_Dim{Size: d})
	}
	return p
}

// attrsOf parses the attributes of a maker.
func (h *handles) attrsOf(text string) map[string]*tfproto.AttrValue {
	attrs := map[string]*tfproto.AttrValue{}
	for _, f := range strings.Fields(text) {
		name, v, _ := strings.Cut(f, "=")
		attrs[name] = h.attrOf(name, v)
	}
	return attrs
}

func (h *handles) attrOf(name, v string) *tfproto.AttrValue {
	types := map[string]tfproto.DataType{"?": h.dt, "??": h.other, "int64": i64, "int32": i32, "string": str, "float": f32, "variant": variant}
	list := &tfproto.AttrValue_ListValue{}
	inner := strings.Trim(v, "[]")
	unknown := &tfproto.TensorShapeProto{UnknownRank: true}
	switch {
	case name == "shape" || name == "value_shape":
		if v == "?" {
			return &tfproto.AttrValue{Value: &tfproto.AttrValue_Shape{Shape: unknown}}
		}
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_Shape{Shape: shapeProto(numbersOf(inner))}}
	case strings.HasSuffix(name, "shapes"):
		list.Shape = []*tfproto.TensorShapeProto{unknown}
		if v == "?" && name == "shapes" {
			list.Shape[0] = shapeProto([][]int64{nil, {2}, {1}}[h.random.IntN(3)])
		} else if v != "?" {
			list.Shape[0] = shapeProto(numbersOf(inner))
		}
	case v != inner || name == "Tcomponents" || name == "component_types":
		for _, item := range strings.Split(inner, ",") {
			if dt, ok := types[item]; ok {
				list.Type = append(list.Type, dt)
			} else {
				list.S = append(list.S, []byte(item))
			}
		}
	case types[v] != 0:
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: types[v]}}
	case v == "true" || v == "false":
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_B{B: v == "true"}}
	case v == "U":
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_S{S: fmt.Append(nil, "shared", len(h.nodes))}}
	default:
		if n, err := strconv.Atoi(v); err == nil {
			return &tfproto.AttrValue{Value: &tfproto.AttrValue_I{I: int64(n)}}
		}
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_S{S: []byte(v)}}
	}
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: list}}
}

func numbersOf(list string) (all []int64) {
	for _, item := range strings.Split(list, ",") {
		if n, err := strconv.ParseInt(item, 10, 64); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// build adds the operation with its inputs. ok is false for a choice that makes no sense.
func (h *handles) build() (probed string, ok bool) {
	attrs, types := h.attrs()
	h.oddAttrs(attrs)
	node := map[string]*tfproto.AttrValue{}
	for _, a := range h.op.Attr {
		switch a.Type {
		case "type":
			if dt := types[a.Name][0]; (dt == i32 || h.random.IntN(4) > 0) && a.DefaultValue == nil && allows(a, h.dt) {
				types[a.Name] = []tfproto.DataType{h.dt}
			}
			node[a.Name] = &tfproto.AttrValue{Value: &tfproto.AttrValue_Type{Type: types[a.Name][0]}}
		case "list(type)":
			if h.random.IntN(5) > 0 {
				types[a.Name] = h.elements
			} else if h.random.IntN(2) == 0 {
				types[a.Name] = nil
			}
			if strings.HasSuffix(a.Name, "arguments") && h.random.IntN(4) > 0 {
				types[a.Name] = nil
			}
			node[a.Name] = &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Type: types[a.Name]}}}
		case "list(shape)":
			shapes := &tfproto.AttrValue_ListValue{}
			for range len(h.elements) {
				shapes.Shape = append(shapes.Shape, &tfproto.TensorShapeProto{UnknownRank: true})
			}
			node[a.Name] = &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: shapes}}
		case "func", "list(func)":
		default:
			if v, has := attrs[a.Name]; has {
				node[a.Name] = protoOf(v)
			}
		}
	}
	for _, a := range h.op.Attr {
		if a.Type == "func" || a.Type == "list(func)" {
			node[a.Name] = h.functionFor(a, types)
		}
	}
	var inputs []string
	for _, arg := range h.op.InputArg {
		dts, _ := h.dtypes(arg, attrs, types)
		for _, dt := range dts {
			inputs = append(inputs, h.argument(arg, dt))
		}
	}
	return h.add(h.op.Name, append(inputs, h.after...), node), true
}

// allows reports whether an attribute may be a dtype.
func allows(a *tfproto.OpDef_AttrDef, dt tfproto.DataType) bool {
	list := a.GetAllowedValues().GetList().GetType()
	return len(list) == 0 || slices.Contains(list, dt)
}

// protoOf converts the value of an attribute.
func protoOf(v any) *tfproto.AttrValue {
	list := &tfproto.AttrValue_ListValue{}
	switch v := v.(type) {
	case int64:
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_I{I: v}}
	case float32:
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_F{F: v}}
	case bool:
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_B{B: v}}
	case string:
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_S{S: []byte(v)}}
	case tfbridge.AttrProto:
		a := &tfproto.AttrValue{}
		proto.Unmarshal(v, a) //nolint:errcheck // it was marshalled by the probe
		return a
	case tfbridge.Shape:
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_Shape{Shape: &tfproto.TensorShapeProto{UnknownRank: true}}}
	case []int64:
		list.I = v
	case []float32:
		list.F = v
	case []string:
		for _, s := range v {
			list.S = append(list.S, []byte(s))
		}
	}
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: list}}
}

// argument returns an input of the operation.
func (h *handles) argument(arg *tfproto.OpDef_ArgDef, dt tfproto.DataType) string {
	switch {
	case isStringHandle(h.op, arg):
		return h.handle(h.fit(names, false))
	case arg.IsRef:
		return h.handle(variables[min(h.random.IntN(3), h.random.IntN(3))])
	case dt == resource:
		return h.handle(h.fit(resources, false))
	case dt == variant:
		return h.handle(h.fit(variants, strings.Contains(h.op.Name, "Dataset") || strings.Contains(h.op.Name, "Iterator")))
	}
	whole := dt == i32 || dt == i64 || dt == boolean
	switch h.random.IntN(4) {
	case 0, 1:
		if whole {
			return h.value(dt, nil)
		}
	case 2:
		return h.value(dt, h.shape(5))
	}
	return h.value(dt, h.shape(len(shapes)))
}

// functionFor makes a function for an attribute.
func (h *handles) functionFor(a *tfproto.OpDef_AttrDef, types map[string][]tfproto.DataType) *tfproto.AttrValue {
	in := slices.Clone(h.elements)
	for _, name := range []string{"Tin", "T", "Tstate"} {
		if t, ok := types[name]; ok && h.random.IntN(8) > 0 {
			in = slices.Clone(t)
			if name == "Tstate" {
				in = append(in, h.elements...)
			}
			break
		}
	}
	for _, name := range []string{"Targuments", "Tcaptured", "other_arguments"} {
		in = append(in, types[name]...)
	}
	out := slices.Clone(h.elements)
	for _, name := range []string{"Tout", "output_types", "T", "Tstate"} {
		if t, ok := types[name]; ok {
			out = slices.Clone(t)
			break
		}
	}
	switch {
	case strings.Contains(a.Name, "cond") || strings.Contains(a.Name, "pred"):
		out = []tfproto.DataType{boolean}
	case a.Name == "key_func" || strings.Contains(a.Name, "size_func"):
		out = []tfproto.DataType{i64}
	case strings.Contains(h.op.Name, "terleave") || strings.Contains(h.op.Name, "FlatMap") || a.Name == "reduce_func" && strings.Contains(h.op.Name, "Window"):
		out = []tfproto.DataType{variant}
		if a.Name == "reduce_func" {
			in = []tfproto.DataType{i64, variant}
		}
	}
	if h.random.IntN(10) == 0 {
		out = append(out, h.other)
	}
	one := &tfproto.NameAttrList{Name: h.function(in, out)}
	if a.Type == "func" {
		return &tfproto.AttrValue{Value: &tfproto.AttrValue_Func{Func: one}}
	}
	two := &tfproto.NameAttrList{Name: h.function(in, out)}
	return &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Func: []*tfproto.NameAttrList{one, two}}}}
}

// function makes a function that returns its arguments where they fit, and constants
// otherwise.
func (h *handles) function(in, out []tfproto.DataType) string {
	f := &tfproto.FunctionDef{Signature: &tfproto.OpDef{Name: fmt.Sprint("function", len(h.functions))}, Ret: map[string]string{}}
	for i, dt := range in {
		f.Signature.InputArg = append(f.Signature.InputArg, &tfproto.OpDef_ArgDef{Name: fmt.Sprint("arg", i), Type: dt})
	}
	outer, after := h.nodes, h.after
	h.nodes, h.after = nil, nil
	for i, dt := range out {
		name := fmt.Sprint("out", i)
		f.Signature.OutputArg = append(f.Signature.OutputArg, &tfproto.OpDef_ArgDef{Name: name, Type: dt})
		if at := slices.Index(in, dt); at >= 0 && h.random.IntN(3) > 0 {
			f.Ret[name] = fmt.Sprint("arg", at)
			continue
		}
		v := h.value(dt, h.shape(4))
		f.Ret[name] = v
	}
	f.NodeDef = h.nodes
	h.nodes, h.after = outer, after
	nameOutputs(f)
	h.functions = append(h.functions, f)
	return f.Signature.Name
}

// firstOutputs are the names of the first outputs of the makers' operations.
var firstOutputs = map[string]string{"Const": "output", "PlaceholderWithDefault": "output", "VarHandleOp": "resource", "HashTableV2": "table_handle",
	"MutableHashTableV2": "table_handle", "MutableHashTableOfTensorsV2": "table_handle", "MutableDenseHashTableV2": "table_handle",
	"EmptyTensorMap": "handle", "TensorListPushBack": "output_handle", "TensorListSetItem": "output_handle", "TensorListFromTensor": "output_handle",
	"TensorMapInsert": "output_handle", "OptionalNone": "optional", "OptionalFromValue": "optional", "RaggedTensorToVariant": "encoded_ragged",
	"DenseToCSRSparseMatrix": "sparse_output", "SparseMatrixZeros": "sparse_matrix", "CompositeTensorVariantFromComponents": "encoded",
	"CompressElement": "compressed", "SerializeSparse": "serialized_sparse", "WrapDatasetVariant": "output_handle", "MutexV2": "resource"}

// nameOutputs rewrites the inputs of a function's nodes in the form for function
// bodies.
func nameOutputs(f *tfproto.FunctionDef) {
	ops := map[string]string{}
	for _, n := range f.NodeDef {
		ops[n.Name] = n.Op
	}
	fix := func(in string) string {
		name, output, second := strings.Cut(in, ":")
		op, ok := ops[name]
		switch {
		case !ok || strings.HasPrefix(in, "^"):
			return in
		case second && output == "1":
			return name + ":flow:0"
		case firstOutputs[op] != "":
			return name + ":" + firstOutputs[op] + ":0"
		}
		return name + ":handle:0"
	}
	for _, n := range f.NodeDef {
		for i, in := range n.Input {
			n.Input[i] = fix(in)
		}
	}
	for name, in := range f.Ret {
		f.Ret[name] = fix(in)
	}
}

// consume adds nodes that use the operation's outputs, and returns the outputs of the
// signature.
func (h *handles) consume(probed string) string {
	after := []string{"^" + probed}
	if len(h.op.OutputArg) > 0 && h.op.OutputArg[0].Type == variant && strings.Contains(h.op.Name, "Dataset") {
		types := &tfproto.AttrValue{Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{Type: h.elements}}}
		shapes := h.nodes[len(h.nodes)-1].Attr["output_shapes"]
		if shapes == nil {
			shapes = h.attrOf("output_shapes", "?")
		}
		attrs := map[string]*tfproto.AttrValue{"output_types": types, "output_shapes": shapes}
		five := h.add("Const", nil, map[string]*tfproto.AttrValue{"dtype": h.attrOf("T", "int64"), "value": {Value: &tfproto.AttrValue_Tensor{Tensor: &tfproto.TensorProto{Dtype: i64, TensorShape: &tfproto.TensorShapeProto{}, Int64Val: []int64{5}}}}})
		taken := h.add("TakeDataset", []string{probed, five}, attrs)
		in := append([]tfproto.DataType{i64}, h.elements...)
		f := &tfproto.NameAttrList{Name: h.function(in, []tfproto.DataType{i64})}
		after = append(after, "^"+h.add("ReduceDataset", []string{taken, five}, map[string]*tfproto.AttrValue{
			"f": {Value: &tfproto.AttrValue_Func{Func: f}}, "Tstate": h.attrOf("T", "[int64]"), "Targuments": {Value: &tfproto.AttrValue_List{List: &tfproto.AttrValue_ListValue{}}},
			"output_types": h.attrOf("T", "[int64]"), "output_shapes": h.attrOf("output_shapes", "[]")}))
	} else if len(h.op.OutputArg) > 0 && h.op.OutputArg[0].Type == variant && strings.HasPrefix(h.op.Name, "TensorList") {
		shape := h.input('A', "")
		after = append(after, "^"+h.add("TensorListStack", []string{probed, shape}, h.attrsOf("element_dtype=? num_elements=-1")))
	}
	return h.add("Identity", append([]string{h.value(f32, nil)}, after...), map[string]*tfproto.AttrValue{"T": h.attrOf("T", "float")})
}

// model returns the model.
func (h *handles) model(result string) *tfproto.SavedModel {
	return &tfproto.SavedModel{SavedModelSchemaVersion: 1, MetaGraphs: []*tfproto.MetaGraphDef{{
		MetaInfoDef: &tfproto.MetaGraphDef_MetaInfoDef{Tags: []string{"serve"}},
		GraphDef: &tfproto.GraphDef{Node: h.nodes, Library: &tfproto.FunctionDefLibrary{Function: h.functions},
			Versions: &tfproto.VersionDef{Producer: 2474}},
		SignatureDef: map[string]*tfproto.SignatureDef{"serving_default": {Outputs: map[string]*tfproto.TensorInfo{"y": {
			Encoding: &tfproto.TensorInfo_Name{Name: result + ":0"}, Dtype: f32, TensorShape: &tfproto.TensorShapeProto{}}}}},
	}}}
}

// attackHandles loads and runs one model.
func (p *probe) attackHandles() (loaded bool, ran bool, why error) {
	h := newHandles(p)
	probed, ok := h.build()
	if !ok {
		return false, false, nil
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(h.model(h.consume(probed)))
	if err != nil {
		return false, false, err
	}
	dir := "model"
	if os.MkdirAll(dir, 0o755) != nil || os.WriteFile(filepath.Join(dir, "saved_model.pb"), raw, 0o600) != nil {
		return false, false, nil
	}
	m, err := graph.LoadModel(dir, nil)
	if err != nil {
		return false, false, err
	}
	defer m.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 400*time.Millisecond)
	defer cancel()
	outs, err := m.Call(ctx, "", nil)
	for _, o := range outs {
		o.Close()
	}
	return true, err == nil, err
}

// handled lists operations that take or make handles, take references, or call functions.
func handled(ops map[string]*tfproto.OpDef) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(ops)), func(name string) bool {
		op := ops[name]
		makes := slices.ContainsFunc(op.OutputArg, func(a *tfproto.OpDef_ArgDef) bool { return isHandle(a.Type) || a.IsRef })
		why := unfed(op)
		return why == "file" || why == "" && !makes
	})
}

// TestOddHandles gives operations real handles, references and functions of fitting and
// of other kinds and dtypes, and odd arguments, as models that the policy has checked.
// None ends the process. A brief run takes a few of the operations, a long one all of
// them.
func TestOddHandles(t *testing.T) {
	names := handled(allowedOps(t))
	if !soak.Long() {
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(alwaysHandled, name) })
	}
	attackAll(t, "TestOddHandlesChild", names)
}

// alwaysHandled are operations that are attacked in every run of the tests.
var alwaysHandled = strings.Fields(`AssignVariableOp BatchDatasetV2 LookupTableFindV2 QueueDequeueManyV2 ResourceScatterUpdate
	TensorArrayScatterV3 TensorListSetItem TensorListStack While`)

// TestOddHandlesChild is the process that is attacked.
func TestOddHandlesChild(t *testing.T) {
	attackInChild(t, func(p *probe) {
		loaded, ran, failures := 0, 0, map[string]int{}
		for range soak.Repeat(20, 80, 300) { // about as many operations
			l, r, err := p.attackHandles()
			if l {
				loaded++
			}
			if r {
				ran++
			} else if err != nil {
				failures[err.Error()]++
			}
		}
		fmt.Println("attacked", p.op.Name, loaded, ran)
		if os.Getenv("MILLRACE_TEST_WHY") != "" {
			for why, n := range failures {
				fmt.Println("   ", n, why)
			}
		}
	})
}
