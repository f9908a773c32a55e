package serving

import (
	"log/slog"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/loaders"
	"millrace/serving/internal/inference"
	"millrace/tfrecord"
)

// A logged request can be used as a warmup request, and its Examples as data of the
// loader.
func TestRequestLog(t *testing.T) {
	d, records := points(t, 2)
	prefix := d.Path("live")
	s := start(t, ModelConfig{BasePath: testdata + "classifier"}, Options{
		Loaders: map[string]*loaders.Plan{"m": planOf(t, d)}, Logging: &LoggingConfig{FilenamePrefix: prefix, SamplingRate: 1},
	})
	v, err := s.Acquire(ModelSpec{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	text := &tfproto.TensorProto{Dtype: tfproto.DataType_DT_STRING, StringVal: records, TensorShape: &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: 2}}}}
	v.LogRequest("examples", serializedLog(func() *servingproto.PredictionLog {
		return &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_PredictLog{PredictLog: &servingproto.PredictLog{
			Request: &servingproto.PredictRequest{ModelSpec: &servingproto.ModelSpec{SignatureName: "examples"}, Inputs: map[string]*tfproto.TensorProto{"inputs": text}},
		}}}
	}))
	v.LogRequest("examples", serializedLog(func() *servingproto.PredictionLog {
		return &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_ClassifyLog{ClassifyLog: &servingproto.ClassifyLog{
			Request: &servingproto.ClassificationRequest{ModelSpec: &servingproto.ModelSpec{SignatureName: "examples"}, Input: inference.Input([]string{string(records[1])})},
		}}}
	}))
	v.LogRequest("examples", serializedLog(func() *servingproto.PredictionLog { return nil }))
	v.Release()
	s.Close()
	if written, dropped := s.LoggedRequests(); written != 2 || dropped != 0 {
		t.Fatalf("%d written, %d dropped", written, dropped)
	}
	logs, _ := filepath.Glob(prefix + "-2*.tfrecords")
	if len(logs) != 1 {
		t.Fatalf("logs %q", logs)
	}
	again := start(t, ModelConfig{BasePath: testdata + "classifier"}, Options{Loaders: map[string]*loaders.Plan{"m": planOf(t, d)}})
	if v, err = again.Acquire(ModelSpec{Name: "m"}); err != nil {
		t.Fatal(err)
	}
	defer v.Release()
	for r, err := range tfrecord.Records(logs[0], nil) {
		log := &servingproto.PredictionLog{}
		if err != nil || proto.Unmarshal(r.Data, log) != nil {
			t.Fatal(err)
		}
		if m := log.GetLogMetadata(); m.GetModelSpec().GetName() != "m" || m.GetModelSpec().GetVersion().GetValue() != 1 || m.GetSamplingConfig().GetSamplingRate() != 1 || m.GetTimestampSecs() == 0 {
			t.Errorf("metadata %v", m)
		}
		if err := v.replay(t.Context(), r.Data); err != nil {
			t.Errorf("replay: %v", err)
		}
	}
	d.Args["dataset"].(map[string]any)["args"].(map[string]any)["pattern"] = "live-examples-*.tfrecords"
	d.Save(t)
	loader, err := loaders.Open(d.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer loader.Close()
	rows := int64(0)
	for b, err := range loader.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rows += b.Tensor("xs").Shape()[0]
	}
	if rows != 3 {
		t.Errorf("a loader reads %d examples of the log, want 3", rows)
	}
}

func TestRequestLogFails(t *testing.T) {
	config := ModelConfig{Name: "m", BasePath: testdata + "constant", Logging: &LoggingConfig{FilenamePrefix: filepath.Join(t.TempDir(), "none", "x"), SamplingRate: 0.5}}
	if _, err := New(t.Context(), []ModelConfig{config}, &Options{Logger: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a log in a folder that is not there")
	}
}

// serializedLog serializes what describe returns.
func serializedLog(describe func() *servingproto.PredictionLog) func() []byte {
	return func() []byte {
		if m := describe(); m != nil {
			text, _ := proto.Marshal(m) // nil after an error, which is not logged
			return text
		}
		return nil
	}
}
