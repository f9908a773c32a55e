package tfbridge

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
)

// infoProto is a TensorInfo message.
func infoProto(name string, dt tfproto.DataType, dims ...int64) *tfproto.TensorInfo {
	shape := &tfproto.TensorShapeProto{UnknownRank: dims == nil}
	for _, d := range dims {
		shape.Dim = append(shape.Dim, &tfproto.TensorShapeProto_Dim{Size: d})
	}
	return &tfproto.TensorInfo{Encoding: &tfproto.TensorInfo_Name{Name: name}, Dtype: dt, TensorShape: shape}
}

func TestSignatureFromMessage(t *testing.T) {
	got, err := SignatureFromProto(&tfproto.SignatureDef{
		Inputs: map[string]*tfproto.TensorInfo{
			"image": infoProto("image:0", tfproto.DataType_DT_UINT8, -1, 28, 28),
			"name":  infoProto("name:1", tfproto.DataType_DT_STRING),
		},
		Outputs:    map[string]*tfproto.TensorInfo{"label": infoProto("label:0", tfproto.DataType_DT_INT64, 1)},
		MethodName: "predict",
	})
	want := Signature{
		Inputs: map[string]TensorInfo{
			"image": {Name: "image:0", DType: Uint8, Shape: MakeShape(-1, 28, 28)},
			"name":  {Name: "name:1", DType: String},
		},
		Outputs:    map[string]TensorInfo{"label": {Name: "label:0", DType: Int64, Shape: MakeShape(1)}},
		MethodName: "predict",
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Shape{})); err != nil || diff != "" {
		t.Errorf("SignatureFromProto: %v (-want +got)\n%s", err, diff)
	}
	info, err := TensorInfoFromProto(infoProto("x:0", tfproto.DataType_DT_FLOAT, 2, 3))
	if diff := cmp.Diff(TensorInfo{Name: "x:0", DType: Float, Shape: MakeShape(2, 3)}, info, cmp.AllowUnexported(Shape{})); err != nil || diff != "" {
		t.Errorf("TensorInfoFromProto: %v (-want +got)\n%s", err, diff)
	}
}

func TestSignatureFromOtherMessages(t *testing.T) {
	for _, m := range []proto.Message{nil, &tfproto.GraphDef{}} {
		if s, err := SignatureFromProto(m); s.Inputs != nil || !errors.Is(err, millrace.ErrModel) {
			t.Errorf("SignatureFromProto(%T): %v, %v", m, s, err)
		}
		if info, err := TensorInfoFromProto(m); info.Name != "" || !errors.Is(err, millrace.ErrModel) {
			t.Errorf("TensorInfoFromProto(%T): %v, %v", m, info, err)
		}
	}
}
