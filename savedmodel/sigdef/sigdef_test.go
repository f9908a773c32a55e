package sigdef

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/dtype"
	"millrace/internal/tfproto"
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
	sparse := &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_CooSparse_{CooSparse: &tfproto.TensorInfo_CooSparse{}}, Dtype: tfproto.DataType_DT_INT64}
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
			{TensorSpec: spec("ids", dtype.Int64, dtype.Shape{}), Encoding: Sparse},
			{TensorSpec: spec("image", dtype.Uint8, dtype.MakeShape(-1, 28, 28)), Node: "image:0"},
			{TensorSpec: spec("name", dtype.String, dtype.Shape{}), Node: "name:1"},
		},
		Outputs: []Tensor{{TensorSpec: spec("label", dtype.Int64, dtype.MakeShape(1)), Node: "label:0"}},
	}}
	got, err := ParseMetaGraph(meta)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	for n := range len(meta) { // whatever is cut off: an error or less, no panic
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
