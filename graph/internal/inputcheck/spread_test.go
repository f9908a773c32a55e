package inputcheck

import (
	"testing"

	"millrace/internal/base/argcheck"
	"millrace/internal/base/tfproto"
)

// A constant may give all of its elements by one number. A rule about all elements must
// see all of them.
func TestSpread(t *testing.T) {
	tensor := func(dt tfproto.DataType, n int64, ints ...int32) *tfproto.NodeDef {
		return &tfproto.NodeDef{Name: "c", Op: "Const", Attr: map[string]*tfproto.AttrValue{"value": {Value: &tfproto.AttrValue_Tensor{Tensor: &tfproto.TensorProto{
			Dtype: dt, IntVal: ints, TensorShape: &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: n}}}}}}}}
	}
	rule, err := argcheck.Parse("product(0)<=99")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name       string
		node       *tfproto.NodeDef
		known, met bool
	}{
		{"one number for four", tensor(tfproto.DataType_DT_INT32, 4, 5), true, false},
		{"two numbers for four", tensor(tfproto.DataType_DT_INT32, 4, 1, 3), true, true},
		{"no number", tensor(tfproto.DataType_DT_INT32, 4), true, true},
		{"too many elements", tensor(tfproto.DataType_DT_INT32, maxSpread+1, 1), false, false},
		{"another type", tensor(tfproto.DataType_DT_FLOAT, 4), false, false},
	} {
		f := &flow{bodies: map[string]map[string]*tfproto.NodeDef{"f": {"c": tt.node}}}
		a, known := f.constant("f", "c:output:0")
		if met := known && rule.Check(func(int) argcheck.Arg { return a }) == nil; known != tt.known || met != tt.met {
			t.Errorf("%s: known %v, met %v", tt.name, known, met)
		}
	}
}
