package main

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/tfrecord"
)

// The server counts Examples, logged requests and warmup requests under TensorFlow Serving's names.
// Two tasks over the same Examples count them once.
func TestServeCounts(t *testing.T) {
	model := filepath.Join(t.TempDir(), "1")
	if err := os.CopyFS(model, os.DirFS("../../testdata/models/half_plus_two")); err != nil {
		t.Fatal(err)
	}
	x := &tfproto.Example{Features: &tfproto.Features{Feature: map[string]*tfproto.Feature{"x": {Kind: &tfproto.Feature_FloatList{FloatList: &tfproto.FloatList{Value: []float32{1}}}}}}}
	log := &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_MultiInferenceLog{MultiInferenceLog: &servingproto.MultiInferenceLog{
		Request: &servingproto.MultiInferenceRequest{
			Tasks: []*servingproto.InferenceTask{
				{ModelSpec: &servingproto.ModelSpec{Name: "m", SignatureName: "regress_x_to_y"}, MethodName: "tensorflow/serving/regress"},
				{ModelSpec: &servingproto.ModelSpec{Name: "m", SignatureName: "classify_x_to_y"}, MethodName: "tensorflow/serving/classify"},
			},
			Input: &servingproto.Input{Kind: &servingproto.Input_ExampleList{ExampleList: &servingproto.ExampleList{Examples: []*tfproto.Example{x, x, x}}}},
		}}}}
	record, err := proto.Marshal(log)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	w := tfrecord.NewWriter(&file, tfrecord.None)
	if err := errors.Join(w.Write(record), w.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(model, "assets.extra"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(model, "assets.extra", "tf_serving_warmup_requests"), file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	at, stop := startServe(t, "--model", "m="+filepath.Dir(model), "--request-log", filepath.Join(t.TempDir(), "requests"), "--request-log-rate", "1")
	defer stop()
	a, err := http.Post("http://"+at["http"]+"/v1/models/m:regress", "application/json", strings.NewReader(`{"signature_name": "regress_x_to_y", "examples": [{"x": 2.0}, {"x": 3.0}]}`))
	if err != nil || a.StatusCode != http.StatusOK {
		t.Fatal(a, err)
	}
	a.Body.Close()
	figures := get(t, "http://"+at["http"]+"/monitoring/prometheus/metrics")
	for _, want := range []string{
		`:tensorflow:serving:request_example_count_total{model="m"} 5`,
		`:tensorflow:serving:request_example_counts_bucket{model="m",le="2"} 1`,
		`:tensorflow:serving:request_example_counts_count{model="m"} 2`,
		`:tensorflow:serving:request_log_count{model_name="m",status_code="OK"} 1`,
		`:tensorflow:serving:model_warmup_records_read{model_path="` + model + `",status="OK"} 1`,
		`:tensorflow:serving:model_warmup_latency_count{model_path="` + model + `",status="OK"} 1`,
	} {
		if !strings.Contains(figures, want+"\n") {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if t.Failed() {
		t.Log(figures)
	}
}
