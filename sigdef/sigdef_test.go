package sigdef

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/dtype"
	"millrace/internal/base/tfproto"
)

// info is a TensorInfo message; nil dims are an unknown number of dimensions.
func info(node string, dt tfproto.DataType, dims ...int64) *tfproto.TensorInfo {
	shape := &tfproto.TensorShapeProto{UnknownRank: dims == nil}
	for _, d := range dims {
		shape.Dim = append(shape.Dim, &tfproto.TensorShapeProto_Dim{Size: d})
	}
	return &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: node}, Dtype: dt, TensorShape: shape}
}

func TestParseMetaGraph(t *testing.T) {
	sparse := info("", tfproto.DataType_DT_FLOAT, -1, 9)
	sparse.Encoding = &tfproto.TensorInfo_CooSparse_{CooSparse: &tfproto.TensorInfo_CooSparse{
		ValuesTensorName: "v:0", IndicesTensorName: "i:0", DenseShapeTensorName: "s:0"}}
	meta, err := proto.Marshal(&tfproto.MetaGraphDef{
		MetaInfoDef: &tfproto.MetaGraphDef_MetaInfoDef{TensorflowVersion: "2.21.0"},
		SignatureDef: map[string]*tfproto.SignatureDef{"serving_default": {
			MethodName: "predict",
			Inputs: map[string]*tfproto.TensorInfo{
				"name":  info("name:1", tfproto.DataType_DT_STRING),
				"image": info("image:0", tfproto.DataType_DT_UINT8, -1, 28, 28),
				"ids":   sparse,
			},
			Outputs: map[string]*tfproto.TensorInfo{"label": info("label:0", tfproto.DataType_DT_INT64, 1)},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	spec := func(name string, d dtype.DataType, shape dtype.Shape) dtype.TensorSpec {
		return dtype.TensorSpec{Name: name, DType: d, Shape: shape}
	}
	want := map[string]*Signature{"serving_default": {
		Name: "serving_default", Method: "predict",
		Inputs: []Tensor{
			{TensorSpec: spec("ids/dense_shape", dtype.Int64, dtype.MakeShape(2)), Node: "s:0", Encoding: Sparse, Whole: "ids", Component: "dense_shape"},
			{TensorSpec: spec("ids/indices", dtype.Int64, dtype.MakeShape(-1, 2)), Node: "i:0", Encoding: Sparse, Whole: "ids", Component: "indices"},
			{TensorSpec: spec("ids/values", dtype.Float, dtype.MakeShape(-1)), Node: "v:0", Encoding: Sparse, Whole: "ids", Component: "values"},
			{TensorSpec: spec("image", dtype.Uint8, dtype.MakeShape(-1, 28, 28)), Node: "image:0"},
			{TensorSpec: spec("name", dtype.String, dtype.Shape{}), Node: "name:1"},
		},
		Outputs: []Tensor{{TensorSpec: spec("label", dtype.Int64, dtype.MakeShape(1)), Node: "label:0"}},
	}}
	got, err := ParseMetaGraph(meta)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	for n := range len(meta) { // a cut message is an error or has fewer parts, but never panics
		if _, err := ParseMetaGraph(meta[n:]); err != nil && !errors.Is(err, millrace.ErrModel) {
			t.Errorf("from byte %d: %v has no class", n, err)
		}
	}
	for _, raw := range []string{"\x2a\x01", "\x2a\x02\x12\x05", "\xff"} {
		if s, err := ParseMetaGraph([]byte(raw)); !errors.Is(err, millrace.ErrModel) {
			t.Errorf("ParseMetaGraph(%q) = %v, %v", raw, s, err)
		}
	}
}

// A composite tensor is listed as its components, in the order of its type.
func TestComponents(t *testing.T) {
	composite := func(class tfproto.TypeSpecProto_TypeSpecClass, components ...*tfproto.TensorInfo) *tfproto.TensorInfo {
		return &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_CompositeTensor_{CompositeTensor: &tfproto.TensorInfo_CompositeTensor{
			TypeSpec: &tfproto.TypeSpecProto{TypeSpecClass: class}, Components: components}}}
	}
	a, b, c := info("a:0", tfproto.DataType_DT_FLOAT, -1), info("b:0", tfproto.DataType_DT_INT64, -1), info("c:0", tfproto.DataType_DT_INT64, -1)
	tests := []struct {
		info     *tfproto.TensorInfo
		encoding Encoding
		want     map[string]string // nodes by the keys of the components
	}{
		{composite(tfproto.TypeSpecProto_RAGGED_TENSOR_SPEC, a, b), Ragged, map[string]string{"x/flat_values": "a:0", "x/row_splits": "b:0"}},
		{composite(tfproto.TypeSpecProto_RAGGED_TENSOR_SPEC, a, b, c), Ragged, map[string]string{"x/flat_values": "a:0", "x/row_splits_0": "b:0", "x/row_splits_1": "c:0"}},
		{composite(tfproto.TypeSpecProto_SPARSE_TENSOR_SPEC, b, a, c), Sparse, map[string]string{"x/indices": "b:0", "x/values": "a:0", "x/dense_shape": "c:0"}},
		{composite(tfproto.TypeSpecProto_INDEXED_SLICES_SPEC, a, b), Composite, map[string]string{"x/values": "a:0", "x/indices": "b:0"}},
		{composite(tfproto.TypeSpecProto_EXTENSION_TYPE_SPEC, a, b), Composite, map[string]string{"x/0": "a:0", "x/1": "b:0"}},
		{composite(tfproto.TypeSpecProto_EXTENSION_TYPE_SPEC, a, composite(tfproto.TypeSpecProto_RAGGED_TENSOR_SPEC, b, c)), Composite,
			map[string]string{"x/0": "a:0", "x/1/flat_values": "b:0", "x/1/row_splits": "c:0"}},
	}
	for _, tt := range tests {
		def, err := proto.Marshal(&tfproto.SignatureDef{Outputs: map[string]*tfproto.TensorInfo{"x": tt.info}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse("f", def)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, o := range s.Outputs {
			got[o.Name] = o.Node
			if o.Encoding != tt.encoding || o.Whole != "x" {
				t.Errorf("%s is of %q, %q", o.Name, o.Whole, o.Encoding)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	deep := a
	for range maxDepth + 1 {
		deep = composite(tfproto.TypeSpecProto_EXTENSION_TYPE_SPEC, deep)
	}
	def, _ := proto.Marshal(&tfproto.SignatureDef{Outputs: map[string]*tfproto.TensorInfo{"x": deep}})
	if _, err := Parse("f", def); !errors.Is(err, millrace.ErrModel) {
		t.Errorf("composites nested too deep: %v", err)
	}
}

// The object graph shows which inputs of a function form one composite tensor.
func TestInputComponents(t *testing.T) {
	dense := &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_TensorSpecValue{TensorSpecValue: &tfproto.TensorSpecProto{}}}
	tuple := func(values ...*tfproto.StructuredValue) *tfproto.StructuredValue {
		return &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_TupleValue{TupleValue: &tfproto.TupleValue{Values: values}}}
	}
	spec := func(class tfproto.TypeSpecProto_TypeSpecClass, components int32, state ...*tfproto.StructuredValue) *tfproto.StructuredValue {
		return &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_TypeSpecValue{TypeSpecValue: &tfproto.TypeSpecProto{
			TypeSpecClass: class, NumFlatComponents: components, TypeState: tuple(state...)}}}
	}
	rank := &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_Int64Value{Int64Value: 2}}
	keywords := &tfproto.StructuredValue{Kind: &tfproto.StructuredValue_DictValue{DictValue: &tfproto.DictValue{Fields: map[string]*tfproto.StructuredValue{
		"b": dense, "a": spec(tfproto.TypeSpecProto_SPARSE_TENSOR_SPEC, 0)}}}}
	inputs := tuple(tuple(spec(tfproto.TypeSpecProto_RAGGED_TENSOR_SPEC, 2), dense, spec(tfproto.TypeSpecProto_RAGGED_TENSOR_SPEC, 0, dense, dense, rank)), keywords)
	graph, err := proto.Marshal(&tfproto.SavedObjectGraph{ConcreteFunctions: map[string]*tfproto.SavedConcreteFunction{
		"serve": {CanonicalizedInputSignature: inputs}, "odd": {CanonicalizedInputSignature: spec(tfproto.TypeSpecProto_EXTENSION_TYPE_SPEC, 0)}}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Component{
		{Ragged, "flat_values", true}, {Ragged, "row_splits", false},
		{Dense, "", true},
		{Ragged, "flat_values", true}, {Ragged, "row_splits_0", false}, {Ragged, "row_splits_1", false},
		{Sparse, "indices", true}, {Sparse, "values", false}, {Sparse, "dense_shape", false},
		{Dense, "", true},
	}
	if diff := cmp.Diff(want, InputComponents(graph, "serve")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, name := range []string{"odd", "none"} {
		if got := InputComponents(graph, name); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}
