package graph_test

import (
	"fmt"
	"path/filepath"
	"strings"

	"millrace/internal/base/tfproto"
)

// A reach is one way to touch the host. Its nodes are written as in the body of a
// function, whose argument x is a string. They stand at every place of reachPlaces.
type reach struct {
	what  string
	leak  string // the output holds this; "": a file or folder changes, or a connection comes
	build func(b *reachBody) (result string)
}

// reachBody collects the nodes of a reach.
type reachBody struct {
	host, address string // address names a TCP server
	nodes         []*tfproto.NodeDef
}

func (b *reachBody) at(name string) string { return filepath.Join(b.host, name) }

// do adds a node and returns its name.
func (b *reachBody) do(op string, inputs []string, attrs ...any) (name string) {
	name = fmt.Sprintf("n%d", len(b.nodes))
	b.nodes = append(b.nodes, opNode(name, op, inputs, attrs...))
	return name
}

// value adds a constant and returns its output.
func (b *reachBody) value(tensor *tfproto.TensorProto, shape dims) string {
	tensor.TensorShape = attrOf(shape).GetShape()
	return b.do("Const", nil, "dtype", tensor.Dtype, "value", tensor) + ":output:0"
}

// text adds a constant of one string.
func (b *reachBody) text(v string) string { return b.texts(dims{}, v) }

func (b *reachBody) texts(shape dims, v ...string) string {
	t := &tfproto.TensorProto{Dtype: str}
	for _, s := range v {
		t.StringVal = append(t.StringVal, []byte(s))
	}
	return b.value(t, shape)
}

func (b *reachBody) long(v ...int64) string {
	shape := dims{}
	if len(v) != 1 {
		shape = dims{int64(len(v))}
	}
	return b.value(&tfproto.TensorProto{Dtype: i64, Int64Val: v}, shape)
}

func (b *reachBody) longs(v ...int64) string {
	return b.value(&tfproto.TensorProto{Dtype: i64, Int64Val: v}, dims{int64(len(v))})
}

func (b *reachBody) number(v int32) string {
	return b.value(&tfproto.TensorProto{Dtype: i32, IntVal: []int32{v}}, dims{})
}

func (b *reachBody) float(shape dims, v ...float32) string {
	return b.value(&tfproto.TensorProto{Dtype: f32, FloatVal: v}, shape)
}

// shown returns a string that shows a tensor. It has control dependencies on after.
func (b *reachBody) shown(tensor string, t tfproto.DataType, after ...string) string {
	inputs := in(tensor)
	for _, a := range after {
		inputs = append(inputs, "^"+a)
	}
	return b.do("StringFormat", inputs, "T", []tfproto.DataType{t}, "template", "{}", "placeholder", "{}", "summarize", -1) + ":output:0"
}

// done returns the argument, with control dependencies on after.
func (b *reachBody) done(after ...string) string { return b.shown("x", str, after...) }

// oneString are the attributes of a dataset of strings.
var oneString = []any{"output_types", []tfproto.DataType{str}, "output_shapes", list{nil}}

// dataset adds a dataset of strings.
func (b *reachBody) dataset(op string, inputs []string, attrs ...any) string {
	return b.do(op, inputs, append(attrs, oneString...)...) + ":handle:0"
}

// ownData adds a dataset of x.
func (b *reachBody) ownData() string {
	return b.do("TensorDataset", in("x"), "Toutput_types", []tfproto.DataType{str}, "output_shapes", list{{}}) + ":handle:0"
}

// first returns the first element of a dataset.
func (b *reachBody) first(dataset string) string {
	return b.only(b.dataset("TakeDataset", in(dataset, b.long(1))))
}

// only returns the one element of a dataset, which is read to its end.
func (b *reachBody) only(dataset string) string {
	return b.shown(b.do("DatasetToSingleElement", in(dataset), oneString...)+":components:0", str)
}

// A reachPlace puts a function of the model to use: fx takes a string and returns one.
// It returns the node whose first output is the result.
type reachPlace struct {
	name string
	put  func(s *smuggled) (node string)
}

// reachPlaces are where an operation may stand in a model. A nil put has the nodes in the
// graph itself.
var reachPlaces = []reachPlace{
	{"the graph", nil},
	{"a function", func(s *smuggled) string {
		s.op("call", "StatefulPartitionedCall", in("x"), "Tin", types1, "Tout", types1, "f", fn("fx"))
		return "call"
	}},
	{"a branch", func(s *smuggled) string {
		s.function("other", []string{"a"})
		s.op("yes", "Const", nil, "dtype", boolean, "value", &tfproto.TensorProto{Dtype: boolean, TensorShape: &tfproto.TensorShapeProto{}, BoolVal: []bool{true}})
		s.op("if", "If", in("yes", "x"), "Tcond", boolean, "Tin", types1, "Tout", types1, "then_branch", fn("fx"), "else_branch", fn("other"))
		return "if"
	}},
	{"a loop", func(s *smuggled) string {
		// The loop runs until its string differs from "value", which the signature is called with.
		f := s.function("different", []string{"a"}, constantNode("v", "value"), opNode("same", "Equal", in("a", "v:output:0"), "T", str))
		f.Signature.OutputArg[0].Type, f.Ret["out"] = boolean, "same:z:0"
		s.op("while", "While", in("x"), "T", types1, "cond", fn("different"), "body", fn("fx"))
		return "while"
	}},
	{"a dataset's map", func(s *smuggled) string {
		s.op("data", "TensorDataset", in("x"), "Toutput_types", types1, "output_shapes", list{{}})
		s.op("map", "MapDataset", in("data"), append([]any{"f", fn("fx"), "Targuments", []tfproto.DataType{}}, oneString...)...)
		s.op("read", "DatasetToSingleElement", in("map"), oneString...)
		return "read"
	}},
}

// layReach writes the model that has a reach at a place.
func layReach(s *smuggled, address string, r *reach, place *reachPlace) {
	b := &reachBody{host: s.host, address: address}
	result := r.build(b)
	node := flat(result)
	if place.put == nil {
		for _, n := range b.nodes {
			for i, input := range n.Input {
				n.Input[i] = flat(input)
			}
		}
		s.graph().Node = append(s.graph().Node, b.nodes...)
	} else {
		s.function("fx", []string{"x"}, b.nodes...).Ret["out"] = result
		node = place.put(s)
	}
	for _, n := range s.graph().Node {
		if n.Name == "y" {
			n.Input[0] = node
		}
	}
	s.write()
}

// flat turns the name of an output in a function, node:output:number, into its name in
// a graph.
func flat(input string) string {
	parts := strings.Split(input, ":")
	if len(parts) == 3 {
		index := map[string]string{"value": "1"}[parts[1]] // the other outputs are the first of their nodes
		return parts[0] + ":" + max(index, parts[2])
	}
	return input
}
