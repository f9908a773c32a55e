package rpc

import (
	"context"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/corrupt"
)

// hostile is an input that a server must survive.
type hostile struct {
	name   string
	spec   *servingproto.ModelSpec
	tensor *tfproto.TensorProto
}

// hostileTensors are inputs with false dtypes, shapes or metadata, or with bytes that
// the model parses.
func hostileTensors() []hostile {
	const float, text, variant = tfproto.DataType_DT_FLOAT, tfproto.DataType_DT_STRING, tfproto.DataType_DT_VARIANT
	linear, single := spec("linear", ""), spec("payloads", "single")
	nested := &tfproto.VariantTensorDataProto{TypeName: "tensorflow::TensorList", Metadata: []byte{0xff, 0xff, 0x7f}}
	for range 50 {
		nested = &tfproto.VariantTensorDataProto{TypeName: "tensorflow::Tensor", Tensors: []*tfproto.TensorProto{{Dtype: variant, VariantVal: []*tfproto.VariantTensorDataProto{nested}}}}
	}
	bytes := func(b []byte) *tfproto.TensorProto {
		return &tfproto.TensorProto{Dtype: text, TensorShape: shape(), StringVal: [][]byte{b}}
	}
	return []hostile{
		{"no tensor", linear, &tfproto.TensorProto{}},
		{"another dtype", linear, &tfproto.TensorProto{Dtype: text, TensorShape: shape(1, 3), StringVal: [][]byte{nil}}},
		{"a dtype that does not exist", linear, &tfproto.TensorProto{Dtype: 1000, TensorShape: shape(1, 3)}},
		{"a reference", linear, &tfproto.TensorProto{Dtype: 101, TensorShape: shape(1, 3), FloatVal: []float32{1}}},
		{"a variant", linear, &tfproto.TensorProto{Dtype: variant, TensorShape: shape(), VariantVal: []*tfproto.VariantTensorDataProto{nested}}},
		{"a handle", linear, &tfproto.TensorProto{Dtype: tfproto.DataType_DT_RESOURCE, TensorShape: shape(), ResourceHandleVal: []*tfproto.ResourceHandleProto{{Name: "v"}}}},
		{"a negative dimension", linear, &tfproto.TensorProto{Dtype: float, TensorShape: shape(-1, 3), FloatVal: []float32{1, 2, 3}}},
		{"an unknown rank", linear, &tfproto.TensorProto{Dtype: float, TensorShape: &tfproto.TensorShapeProto{UnknownRank: true}}},
		{"too many dimensions", linear, &tfproto.TensorProto{Dtype: float, TensorShape: shape(make([]int64, 300)...)}},
		{"more than 63 bits", linear, &tfproto.TensorProto{Dtype: float, TensorShape: shape(1<<40, 1<<40), FloatVal: []float32{1}}},
		{"a value that repeats", linear, &tfproto.TensorProto{Dtype: float, TensorShape: shape(1<<32, 3), FloatVal: []float32{1}}},
		{"a string that repeats", single, &tfproto.TensorProto{Dtype: text, TensorShape: shape(1 << 40), StringVal: [][]byte{make([]byte, 1000)}}},
		{"content that is too short", linear, &tfproto.TensorProto{Dtype: float, TensorShape: shape(1, 3), TensorContent: make([]byte, 11)}},
		{"lengths of strings that lie", single, &tfproto.TensorProto{Dtype: text, TensorShape: shape(), TensorContent: []byte{0xff, 0xff, 0xff, 0xff, 0x7f}}},
		{"bytes of a variant", single, bytes(corrupt.LyingVariant())},
		{"bytes of a huge tensor", single, bytes(corrupt.Tensor(&tfproto.TensorProto{Dtype: float, FloatVal: []float32{1}}, 1<<40))},
		{"a huge image", spec("payloads", "image"), bytes(corrupt.PNG(20000, 20000))},
		{"a BMP from the top", spec("payloads", "image_float"), bytes(corrupt.TopDownBMP())},
	}
}

// TestHostileTensors sends hostile inputs while another client sends normal requests:
// each is refused as the client's fault, and every normal request is answered.
func TestHostileTensors(t *testing.T) {
	conn := start(t, nil, "linear", "payloads")
	ctx, stop := context.WithCancel(t.Context())
	var sound sync.WaitGroup
	answered := 0
	sound.Go(func() {
		q := seeds()[0]
		for ; ctx.Err() == nil || answered == 0; answered++ {
			if err := conn.Invoke(t.Context(), "/tensorflow.serving.PredictionService/Predict", q, &servingproto.PredictResponse{}); err != nil {
				t.Errorf("a sound request: %v", err)
				return
			}
		}
	})
	for _, h := range hostileTensors() {
		q := &servingproto.PredictRequest{ModelSpec: h.spec, Inputs: map[string]*tfproto.TensorProto{"x": h.tensor}}
		_, err := ask[servingproto.PredictResponse](t, conn, "PredictionService/Predict", q)
		if code := status.Code(err); code != codes.InvalidArgument && code != codes.ResourceExhausted {
			t.Errorf("%s: %v", h.name, err)
		}
	}
	stop()
	sound.Wait()
}
