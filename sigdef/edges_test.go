package sigdef

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/tfproto"
)

// tensorValue returns a StructuredValue of a tensor.
func tensorValue() *tfproto.StructuredValue {
	return &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_TensorSpecValue{TensorSpecValue: &tfproto.TensorSpecProto{}}}
}

func typeValue(class tfproto.TypeSpecProto_TypeSpecClass, components int32, state ...*tfproto.StructuredValue) *tfproto.StructuredValue {
	s := &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_TupleValue{TupleValue: &tfproto.TupleValue{Values: state}}}
	return &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_TypeSpecValue{TypeSpecValue: &tfproto.TypeSpecProto{
		TypeSpecClass: class, NumFlatComponents: components, TypeState: s}}}
}

// componentsOf returns the components of a value that describes the inputs of a
// function, as a text: "x" for a plain tensor.
func componentsOf(t *testing.T, value *tfproto.StructuredValue) string {
	t.Helper()
	graph, err := proto.MarshalOptions{Deterministic: true}.Marshal(&tfproto.SavedObjectGraph{
		Nodes: []*tfproto.SavedObject{{}},
		ConcreteFunctions: map[string]*tfproto.SavedConcreteFunction{
			"a": {CanonicalizedInputSignature: tensorValue()}, "f": {CanonicalizedInputSignature: value}, "z": {CanonicalizedInputSignature: tensorValue()},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, c := range InputComponents(graph, "f") {
		word := strings.TrimSpace(fmt.Sprint(c.Encoding, " ", c.Name))
		if word == "" {
			word = "x"
		}
		if !c.First {
			word = "+" + word
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// Arguments may be in every kind of container; an unknown container or type makes the
// whole unknown.
func TestContainersOfArguments(t *testing.T) {
	const ragged, extension = tfproto.TypeSpecProto_RAGGED_TENSOR_SPEC, tfproto.TypeSpecProto_EXTENSION_TYPE_SPEC
	list := func(values ...*tfproto.StructuredValue) *tfproto.StructuredValue {
		return &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_ListValue{ListValue: &tfproto.ListValue{Values: values}}}
	}
	named := &tfproto.NamedTupleValue{Name: "pair"}
	for name, v := range map[string]*tfproto.StructuredValue{"z": tensorValue(), "a": typeValue(extension, 1)} {
		named.Values = append(named.Values, &tfproto.PairValue{Key: name, Value: v})
	}
	slices.SortFunc(named.Values, func(a, b *tfproto.PairValue) int { return -strings.Compare(a.GetKey(), b.GetKey()) })
	pair := &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_NamedTupleValue{NamedTupleValue: named}}
	rank := func(n int64) *tfproto.StructuredValue {
		return typeValue(ragged, 0, tensorValue(), tensorValue(), &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_Int64Value{Int64Value: n}})
	}
	bounded := &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_BoundedTensorSpecValue{BoundedTensorSpecValue: &tfproto.BoundedTensorSpecProto{}}}
	none := &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_NoneValue{NoneValue: &tfproto.NoneValue{}}}
	deep := func(n int) *tfproto.StructuredValue {
		v := tensorValue()
		for range n {
			v = list(v)
		}
		return v
	}
	var many []string
	for i := range maxComponents {
		word := fmt.Sprintf("composite %d", i)
		if i > 0 {
			word = "+" + word
		}
		many = append(many, word)
	}
	for _, tt := range []struct {
		name  string
		value *tfproto.StructuredValue
		want  string
	}{
		{"list", list(tensorValue(), bounded, none, tensorValue()), "x, x, x"},
		{"named tuple, in its own order", list(pair, tensorValue()), "x, composite 0, x"},
		{"ragged of rank 0", list(rank(0), tensorValue()), "x, x"},
		{"ragged of rank 1", list(rank(1)), "ragged flat_values, +ragged row_splits"},
		{"ragged of rank 2", rank(2), "ragged flat_values, +ragged row_splits_0, +ragged row_splits_1"},
		{"ragged of an unknown rank", list(tensorValue(), typeValue(ragged, 0, tensorValue(), tensorValue())), ""},
		{"ragged of a negative rank", list(tensorValue(), rank(-1)), ""},
		{"extension of one part", list(typeValue(extension, 1), tensorValue()), "composite 0, x"},
		{"unknown in a list", list(tensorValue(), list(typeValue(extension, 0)), tensorValue()), ""},
		{"as many parts as there may be", typeValue(extension, maxComponents), strings.Join(many, ", ")},
		{"too many parts", typeValue(extension, maxComponents+1), ""},
		{"as deep as may be", deep(maxDepth), "x"},
		{"too deep", deep(maxDepth + 1), ""},
	} {
		if got := componentsOf(t, tt.value); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// A single TensorInfo can be parsed, and damage is an error.
func TestParseTensor(t *testing.T) {
	marshal := func(m proto.Message) []byte {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	plain := marshal(info("x:1", tfproto.DataType_DT_FLOAT, -1, 3))
	got, err := ParseTensor(plain)
	want := Tensor{TensorSpec: dtype.TensorSpec{DType: dtype.Float, Shape: dtype.MakeShape(-1, 3)}, Node: "x:1"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, (-want +got)\n%s", err, diff)
	}
	sparse := &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_CooSparse_{CooSparse: &tfproto.TensorInfo_CooSparse{ValuesTensorName: "v:0"}}}
	composite := &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_CompositeTensor_{CompositeTensor: &tfproto.TensorInfo_CompositeTensor{}}}
	for encoding, m := range map[Encoding]*tfproto.TensorInfo{Sparse: sparse, Composite: composite} {
		if got, err := ParseTensor(marshal(m)); err != nil || got.Encoding != encoding || got.Node != "" {
			t.Errorf("%s: %+v, %v", encoding, got, err)
		}
	}
	if got, err := ParseTensor(plain[:len(plain)-1]); !errors.Is(err, millrace.ErrModel) || got.Node != "" {
		t.Errorf("cut: %+v, %v", got, err)
	}
	shape := marshal(info("", 0, 4, -1).GetTensorShape())
	if got := ParseShape(shape); got.String() != "[4, ?]" {
		t.Errorf("shape %v", got)
	}
	if got := ParseShape([]byte("\x12\x00\x12\x02\x08\x03")); got.String() != "[0, 3]" {
		t.Errorf("a dimension without a size: shape %v", got)
	}
	for name, bad := range map[string][]byte{"cut": shape[:len(shape)-1], "unknown": marshal(info("", 0).GetTensorShape()), "a dimension that is cut": []byte("\x12\x01\x08")} {
		if got := ParseShape(bad); got.NumDimensions() != -1 {
			t.Errorf("%s: shape %v", name, got)
		}
	}
}

// The tensors of a signature are in the order of their names, whatever the
// order in the file.
func TestTensorsAreSorted(t *testing.T) {
	var def []byte
	for _, name := range []string{"c", "a", "b"} {
		one := &tfproto.SignatureDef{
			Inputs:  map[string]*tfproto.TensorInfo{"in_" + name: info(name+":0", tfproto.DataType_DT_FLOAT)},
			Outputs: map[string]*tfproto.TensorInfo{"out_" + name: info(name+":0", tfproto.DataType_DT_FLOAT)},
		}
		part, err := proto.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		def = append(def, part...)
	}
	s, err := Parse("f", def)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range append(s.Inputs, s.Outputs...) {
		names = append(names, x.Name)
	}
	if got := strings.Join(names, " "); got != "in_a in_b in_c out_a out_b out_c" {
		t.Errorf("got %s", got)
	}
}

// Composite tensors may be as deep as TensorFlow's messages, and indexed slices may
// have a shape.
func TestDeepestComposite(t *testing.T) {
	composite := func(class tfproto.TypeSpecProto_TypeSpecClass, components ...*tfproto.TensorInfo) *tfproto.TensorInfo {
		return &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_CompositeTensor_{CompositeTensor: &tfproto.TensorInfo_CompositeTensor{
			TypeSpec: &tfproto.TypeSpecProto{TypeSpecClass: class}, Components: components}}}
	}
	parse := func(x *tfproto.TensorInfo) (names []string, err error) {
		def, err := proto.Marshal(&tfproto.SignatureDef{Inputs: map[string]*tfproto.TensorInfo{"x": x}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse("f", def)
		if err != nil {
			return nil, err
		}
		for _, in := range s.Inputs {
			names = append(names, in.Name)
		}
		return names, nil
	}
	part := info("a:0", tfproto.DataType_DT_FLOAT, -1)
	deep := part
	for range maxDepth {
		deep = composite(tfproto.TypeSpecProto_EXTENSION_TYPE_SPEC, deep)
	}
	if names, err := parse(deep); err != nil || len(names) != 1 || names[0] != "x"+strings.Repeat("/0", maxDepth) {
		t.Errorf("the deepest: %q, %v", names, err)
	}
	if names, err := parse(composite(tfproto.TypeSpecProto_EXTENSION_TYPE_SPEC, deep)); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("a deeper one: %q, %v", names, err)
	}
	names, err := parse(composite(tfproto.TypeSpecProto_INDEXED_SLICES_SPEC, part, part, part))
	if diff := cmp.Diff([]string{"x/dense_shape", "x/indices", "x/values"}, names); diff != "" || err != nil {
		t.Errorf("error %v, (-want +got)\n%s", err, diff)
	}
	if names, err = parse(composite(tfproto.TypeSpecProto_INDEXED_SLICES_SPEC, part, part, part, part)); err != nil || names[0] != "x/0" {
		t.Errorf("slices of four parts: %q, %v", names, err)
	}
	for _, def := range []string{"\x0a\x03\x0a\x01", "\x12\x03\x0a\x01", "\x0a\x02\x0a\x05"} {
		if s, err := Parse("f", []byte(def)); !errors.Is(err, millrace.ErrModel) {
			t.Errorf("%q: %+v, %v", def, s, err)
		}
	}
}
