package inputcheck

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/tfproto"
	"millrace/tfbridge"
)

// An operation that writes to its input writes to a copy: a constant that it shares
// keeps its value.
func TestWritesToACopy(t *testing.T) {
	floats := func(name string, v ...float32) *tfproto.NodeDef {
		value := &tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, FloatVal: v, TensorShape: &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: int64(len(v))}}}}
		return &tfproto.NodeDef{Name: name, Op: "Const", Attr: map[string]*tfproto.AttrValue{"dtype": typed(tfproto.DataType_DT_FLOAT), "value": {Value: &tfproto.AttrValue_Tensor{Tensor: value}}}}
	}
	index := &tfproto.NodeDef{Name: "index", Op: "Const", Attr: map[string]*tfproto.AttrValue{"dtype": typed(tfproto.DataType_DT_INT32), "value": {Value: &tfproto.AttrValue_Tensor{Tensor: &tfproto.TensorProto{
		Dtype: tfproto.DataType_DT_INT32, IntVal: []int32{0}, TensorShape: &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: 1}}}}}}}}
	def, err := proto.Marshal(&tfproto.GraphDef{Node: []*tfproto.NodeDef{floats("kept", 1, 2), floats("nine", 9), index,
		{Name: "written", Op: "InplaceUpdate", Input: []string{"kept", "index", "nine"}, Attr: map[string]*tfproto.AttrValue{"T": typed(tfproto.DataType_DT_FLOAT)}},
		{Name: "read", Op: "Add", Input: []string{"kept", "kept", "^written"}, Attr: map[string]*tfproto.AttrValue{"T": typed(tfproto.DataType_DT_FLOAT)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if def, err = Insert(def, Options{}); err != nil {
		t.Fatal(err)
	}
	g := tfbridge.NewGraph()
	defer g.Close()
	if err := g.Import(def, ""); err != nil {
		t.Fatal(err)
	}
	s, err := tfbridge.NewSession(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, want := range map[string]float32{"written": 9, "read": 2} {
		out, err := s.Run(nil, []tfbridge.Output{g.Operation(name).Output(0)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tfbridge.View[float32](out[0])
		if err != nil || got[0] != want {
			t.Errorf("%s: %v, %v; want %v first", name, got, err, want)
		}
		out[0].Close()
	}
}
