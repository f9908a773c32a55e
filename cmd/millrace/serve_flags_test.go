package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
)

// ask sends a request to a server by HTTP and returns the status, the headers and the body.
func ask(t *testing.T, method, url, body string) (int, http.Header, string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Origin", "https://elsewhere.example")
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, a.Header, string(text)
}

// Flags of TensorFlow Serving about its interfaces have their documented effects.
func TestServeInterfaceFlags(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "models.config")
	models, err := filepath.Abs("../../testdata/models")
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`model_config_list {
		config { name: "loop" base_path: "%[1]s/countdown" }
		config { name: "half" base_path: "%[1]s/half_plus_two" version_labels { key: "next" value: 9 } } }`, models)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	at, stop := startServe(t, "--model_config_file", config, "--model_config_file_poll_wait_seconds=1", "--allow_version_labels_for_unavailable_models",
		"--rest_api_timeout_in_ms=300", "--rest_api_enable_cors_support", "--rest_api_num_threads=2", "--grpc_max_threads=2",
		"--enable_grpc_healthcheck_service=false", "--enable_serialization_as_tensor_content", "--enable_signature_method_name_check")
	url := "http://" + at["http"] + "/v1/models/"
	if code, headers, _ := ask(t, http.MethodGet, url+"half", ""); code != http.StatusOK || headers.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("--rest_api_enable_cors_support: %d %v", code, headers)
	}
	// Two endless requests take both threads of --rest_api_num_threads until they end
	// by --rest_api_timeout_in_ms. The third request also ends by that time, in its
	// turn or while it waits.
	ended := make(chan int, 3)
	for range 3 {
		go func() {
			code, _, _ := ask(t, http.MethodPost, url+"loop:predict", `{"inputs": -1}`)
			ended <- code
		}()
	}
	for range 3 {
		if code := <-ended; code != http.StatusGatewayTimeout {
			t.Errorf("--rest_api_timeout_in_ms: status %d", code)
		}
	}
	if code, _, text := ask(t, http.MethodPost, url+"half:predict", `{"instances": [2]}`); code != http.StatusOK || !strings.Contains(text, "[3.0]") {
		t.Errorf("after them: %d %s", code, text)
	}
	if code, _, text := ask(t, http.MethodPost, url+"half:regress", `{"signature_name": "classify_x_to_y", "examples": [{"x": 1.0}]}`); code != http.StatusBadRequest || !strings.Contains(text, "method_name") {
		t.Errorf("--enable_signature_method_name_check: %d %s", code, text)
	}
	conn, err := grpc.NewClient(at["grpc"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("--enable_grpc_healthcheck_service=false: %v", err)
	}
	a, err := predictHalf(t.Context(), conn, 2)
	if y := a.GetOutputs()["y"]; err != nil || len(y.GetTensorContent()) != 4 || len(y.GetFloatVal()) != 0 {
		t.Errorf("--enable_serialization_as_tensor_content: %v, %v", y, err)
	}
	writeModels(t, config, "constant")
	until(t, "the new model is served, by --model_config_file_poll_wait_seconds", func() bool { return statusOf(url+"constant") == http.StatusOK })
	if code, log := stop(); code != 0 {
		t.Errorf("code %d\n%s", code, log)
	}
}

// predictHalf asks half_plus_two by gRPC.
func predictHalf(ctx context.Context, conn *grpc.ClientConn, x float32) (*servingproto.PredictResponse, error) {
	q := &servingproto.PredictRequest{ModelSpec: &servingproto.ModelSpec{Name: "half"}, Inputs: map[string]*tfproto.TensorProto{
		"x": {Dtype: tfproto.DataType_DT_FLOAT, FloatVal: []float32{x}, TensorShape: &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: 1}}}}}}
	a := &servingproto.PredictResponse{}
	return a, conn.Invoke(ctx, "/tensorflow.serving.PredictionService/Predict", q, a)
}

// Flags without effect are accepted, and the log has a line for each with the reason. A
// server with ALTS refuses clients that do not speak it.
func TestServeFlagsWithoutMeaning(t *testing.T) {
	nothing := []string{"flush_filesystem_caches=false", "remove_unused_fields_from_bundle_metagraph=false", "prefer_tflite_model=true", "num_tflite_pools=2",
		"num_tflite_interpreters_per_pool=2", "xla_cpu_compilation_enabled=true", "xla_gpu_compilation_enabled=true", "enable_profiler=true",
		"thread_pool_factory_config_file=/nowhere", "skip_initialize_tpu=true"}
	args := []string{"--model", "half=../../testdata/models/half_plus_two", "--use_alts_credentials"}
	for _, flag := range nothing {
		args = append(args, "--"+flag)
	}
	at, stop := startServe(t, args...)
	conn, err := grpc.NewClient(at["grpc"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := predictHalf(t.Context(), conn, 2); status.Code(err) != codes.Unavailable {
		t.Errorf("--use_alts_credentials: a client without ALTS gets %v", err)
	}
	code, log := stop()
	if code != 0 {
		t.Errorf("code %d\n%s", code, log)
	}
	for _, flag := range nothing {
		name, _, _ := strings.Cut(flag, "=")
		if !strings.Contains(log, `msg="flag without meaning" flag=`+name+` reason="`) {
			t.Errorf("the log says nothing about --%s:\n%s", name, log)
		}
	}
}
