package serving

import (
	"errors"
	"testing"

	"millrace"
	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/corrupt"
)

// TestHostileWarmup loads models whose warmup requests claim more than there is, or
// hold bytes that TensorFlow must not parse. The version ends with an error that names
// the record, and another version is still served.
func TestHostileWarmup(t *testing.T) {
	const text = tfproto.DataType_DT_STRING
	huge := &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: 1 << 26}}}
	variant := &tfproto.TensorProto{Dtype: tfproto.DataType_DT_VARIANT, VariantVal: []*tfproto.VariantTensorDataProto{{TypeName: "tensorflow::TensorList", Metadata: []byte{0xff}}}}
	for _, test := range []struct {
		name, model, signature, input string
		tensor                        *tfproto.TensorProto
		class                         millrace.Class
	}{
		{"a string that repeats", "payloads", "single", "x", &tfproto.TensorProto{Dtype: text, StringVal: [][]byte{nil}, TensorShape: huge}, millrace.ErrLimit},
		{"a variant", "payloads", "single", "x", variant, millrace.ErrModel},
		{"bytes of a variant", "payloads", "single", "x", &tfproto.TensorProto{Dtype: text, StringVal: [][]byte{corrupt.LyingVariant()}}, millrace.ErrSchema},
	} {
		base := t.TempDir()
		writeWarmup(t, put(t, base, test.model, 2), &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_PredictLog{PredictLog: &servingproto.PredictLog{
			Request: &servingproto.PredictRequest{ModelSpec: &servingproto.ModelSpec{SignatureName: test.signature}, Inputs: map[string]*tfproto.TensorProto{test.input: test.tensor}}}}})
		put(t, base, test.model, 1)
		s := start(t, ModelConfig{BasePath: base, VersionPolicy: VersionPolicy{All: true}}, Options{MaxNumLoadRetries: -1})
		await(t, s, "2 END with an error, 1 AVAILABLE")
		all, err := s.Status(ModelSpec{Name: "m", Version: 2})
		var e *millrace.Error
		if err != nil || !errors.As(all[0].Err, &e) || e.Record != 0 || !errors.Is(all[0].Err, test.class) {
			t.Errorf("%s: %v, %v", test.name, all, err)
		}
	}
}
