package tensorproto

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// A tensor of every type is converted to a message and back, in both forms.
func TestRoundTrip(t *testing.T) {
	testruntime.Need(t)
	for _, value := range []any{
		[]float32{1.5, float32(math.Inf(1))}, []float64{-2, math.MaxFloat64}, []int8{-128, 127}, []int16{-32768, 1}, []int32{math.MinInt32, 1},
		[]int64{math.MinInt64, 1}, []uint8{255, 1}, []uint16{65535, 1}, []uint32{math.MaxUint32, 1}, []uint64{math.MaxUint64, 1},
		[]bool{true, false}, []complex64{1 + 2i, 3}, []complex128{1 + 2i, 3}, []string{"", "\xff text"},
		[]tfbridge.Float16{0x3c00, 0x7e01}, []tfbridge.BFloat16{0x3f80, 1}, [][]int32{{1, 2}, {3, 4}}, int64(7), [][]float32{},
	} {
		for _, content := range []bool{false, true} {
			x, err := tfbridge.NewTensor(value)
			if err != nil {
				t.Fatal(err)
			}
			p, err := Proto(x, content)
			if err != nil {
				t.Fatal(err)
			}
			y, err := Tensor(p, 1<<20)
			if err != nil {
				t.Errorf("%v: %v", p, err)
			} else if !reflect.DeepEqual(y.Value(), x.Value()) || y.String() != x.String() {
				t.Errorf("%v: got %v %v, want %v %v", p, y, y.Value(), x, x.Value())
			}
			if content == (len(p.TensorContent) == 0) && x.NumElements() > 0 && x.DataType() != tfbridge.String {
				t.Errorf("%v: values are in the other form", p)
			}
			x.Close()
			y.Close()
		}
	}
}

func vector(n int64) *tfproto.TensorShapeProto {
	return &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: n}}}
}

// Missing values in a message are filled up as in TensorFlow.
func TestFewerValues(t *testing.T) {
	testruntime.Need(t)
	tests := []struct {
		name string
		p    *tfproto.TensorProto
		want any
	}{
		{"the last is repeated", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, TensorShape: vector(4), FloatVal: []float32{1, 2}}, []float32{1, 2, 2, 2}},
		{"none", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_INT64, TensorShape: vector(3)}, []int64{0, 0, 0}},
		{"too many", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_BOOL, TensorShape: vector(1), BoolVal: []bool{true, false}}, []bool{true}},
		{"text", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_STRING, TensorShape: vector(3), StringVal: [][]byte{[]byte("a"), []byte("b")}}, []string{"a", "b", "b"}},
		{"no text", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_STRING, TensorShape: vector(2)}, []string{"", ""}},
		{"text as content", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_STRING, TensorShape: vector(2), TensorContent: []byte("\x02\x00ab")}, []string{"ab", ""}},
		{"half a pair", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_COMPLEX64, TensorShape: vector(2), ScomplexVal: []float32{1, 2, 3}}, []complex64{1 + 2i, 1 + 2i}},
	}
	for _, tt := range tests {
		x, err := Tensor(tt.p, 1<<20)
		if err != nil || !reflect.DeepEqual(x.Value(), tt.want) {
			t.Errorf("%s: got %v, %v, want %v", tt.name, x.Value(), err, tt.want)
		}
		x.Close()
	}
}

func TestRefusals(t *testing.T) {
	testruntime.Need(t)
	text := tfproto.DataType_DT_STRING
	tests := []struct {
		name string
		p    *tfproto.TensorProto
		want millrace.Class
	}{
		{"a resource", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_RESOURCE}, millrace.ErrSchema},
		{"a type that there is not", &tfproto.TensorProto{Dtype: 99}, millrace.ErrSchema},
		{"dimensions that overflow", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_INT8, TensorShape: &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: 1 << 62}, {Size: 4}}}}, millrace.ErrLimit},
		{"more than is allowed", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_INT8, TensorShape: vector(101)}, millrace.ErrLimit},
		{"a long string again and again", &tfproto.TensorProto{Dtype: text, TensorShape: vector(4), StringVal: [][]byte{[]byte(strings.Repeat("a", 90))}}, millrace.ErrLimit},
		{"content of another length", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, TensorShape: vector(1), TensorContent: []byte{1}}, millrace.ErrSchema},
		{"a bool of 2", &tfproto.TensorProto{Dtype: tfproto.DataType_DT_BOOL, TensorShape: vector(1), TensorContent: []byte{2}}, millrace.ErrSchema},
		{"strings without lengths", &tfproto.TensorProto{Dtype: text, TensorShape: vector(2), TensorContent: []byte{1}}, millrace.ErrSchema},
		{"strings too long", &tfproto.TensorProto{Dtype: text, TensorShape: vector(1), TensorContent: []byte{9, 'a'}}, millrace.ErrSchema},
		{"bytes behind the strings", &tfproto.TensorProto{Dtype: text, TensorShape: vector(1), TensorContent: []byte{0, 'a'}}, millrace.ErrSchema},
	}
	for _, tt := range tests {
		x, err := Tensor(tt.p, 100)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, %v, want class %v", tt.name, x, err, tt.want)
		}
		x.Close()
	}
}

// FuzzTensor reads messages of any kind. A tensor is never larger than allowed, and
// is the same in the message that it is written to.
func FuzzTensor(f *testing.F) {
	for _, p := range []*tfproto.TensorProto{
		{Dtype: tfproto.DataType_DT_FLOAT, TensorShape: vector(4), FloatVal: []float32{1, 2}},
		{Dtype: tfproto.DataType_DT_STRING, TensorShape: vector(2), TensorContent: []byte("\x02\x00ab")},
		{Dtype: tfproto.DataType_DT_HALF, TensorShape: vector(1), HalfVal: []int32{1 << 20}},
		{Dtype: tfproto.DataType_DT_COMPLEX128, TensorShape: vector(1 << 40), DcomplexVal: []float64{1, 2}},
	} {
		raw, err := proto.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		testruntime.Need(t)
		var p tfproto.TensorProto
		if proto.Unmarshal(raw, &p) != nil {
			return
		}
		const most = 10_000
		x, err := Tensor(&p, most)
		if err != nil {
			return
		}
		defer x.Close()
		if x.ByteSize() > most {
			t.Errorf("%v takes %d bytes", &p, x.ByteSize())
		}
		again, err := Proto(x, false)
		if err != nil {
			t.Fatalf("%v: %v", &p, err)
		}
		y, err := Tensor(again, most)
		if err != nil {
			t.Fatalf("%v, from %v: %v", again, &p, err)
		}
		defer y.Close()
		if x.String() != y.String() {
			t.Errorf("%v is %v, and %v afterwards", &p, x, y)
		}
	})
}
