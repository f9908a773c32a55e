package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"millrace/cmd/millrace/internal/cli"
	"millrace/internal/base/servingproto"
	"millrace/internal/test/testruntime"
)

// startServe runs serve with args and free ports, and returns the addresses of its
// interfaces once it listens. stop sends a signal and returns the exit code and
// the log.
func startServe(t *testing.T, args ...string) (addresses map[string]string, stop func() (int, string)) {
	t.Helper()
	testruntime.Need(t)
	log, w := io.Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	code := make(chan int, 1)
	go func() {
		p := &cli.Program{Stdout: io.Discard, Stderr: w}
		code <- runLine(ctx, p, append([]string{"serve", "--port", "-1", "--rest_api_port", "-1"}, args...))
		w.Close()
	}()
	lines := bufio.NewScanner(log)
	addresses = map[string]string{}
	var said strings.Builder
	for len(addresses) < 2 && lines.Scan() {
		fmt.Fprintln(&said, lines.Text())
		if _, rest, ok := strings.Cut(lines.Text(), "msg=listening interface="); ok {
			name, address, _ := strings.Cut(rest, " address=")
			addresses[name] = address
		}
	}
	ended := make(chan struct{})
	go func() {
		for lines.Scan() {
			fmt.Fprintln(&said, lines.Text())
		}
		close(ended)
	}()
	if len(addresses) < 2 {
		<-ended
		t.Fatalf("serve ended with code %d:\n%s", <-code, &said)
	}
	return addresses, func() (int, string) {
		cancel(cli.SignalError{Signal: syscall.SIGTERM})
		<-ended
		return <-code, said.String()
	}
}

// get returns the answer of a path.
func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The server answers by both interfaces, counts, and ends cleanly after a signal.
func TestServe(t *testing.T) {
	parameters := filepath.Join(t.TempDir(), "batching")
	if err := os.WriteFile(parameters, []byte("max_batch_size { value: 4 }"), 0o644); err != nil {
		t.Fatal(err)
	}
	at, stop := startServe(t, "--model", "m=../../testdata/models/constant", "--enable_batching", "--batching_parameters_file", parameters)
	r, err := http.Post("http://"+at["http"]+"/v1/models/m:predict", "application/json", strings.NewReader(`{"instances": [1, 2.5]}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil || string(text) != "{\"predictions\":[3.0,6.0]}\n" {
		t.Errorf("HTTP: got %s, %v", text, err)
	}
	conn, err := grpc.NewClient(at["grpc"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	state := &servingproto.GetModelStatusResponse{}
	q := &servingproto.GetModelStatusRequest{ModelSpec: &servingproto.ModelSpec{Name: "m"}}
	if err := conn.Invoke(t.Context(), "/tensorflow.serving.ModelService/GetModelStatus", q, state); err != nil || len(state.ModelVersionStatus) != 1 {
		t.Errorf("gRPC: got %v, %v", state, err)
	}
	conn.Close()
	get(t, "http://"+at["http"]+"/v1/models/other")
	figures := get(t, "http://"+at["http"]+"/metrics")
	for _, want := range []string{
		`millrace_serving_requests_total{code="ok",entrypoint="REST",method="predict",model="m",version="1"} 1`,
		`millrace_serving_requests_total{code="not found",entrypoint="REST",method="status",model="",version=""} 1`,
		`millrace_serving_requests_total{code="ok",entrypoint="GRPC",method="GetModelStatus",model="m",version=""} 1`,
		`:tensorflow:serving:request_count{model_name="m",status="OK"} 2`,
		`:tensorflow:serving:request_latency_count{API="predict",entrypoint="REST",model_name="m"} 1`,
		`:tensorflow:serving:runtime_latency_count{API="Predict",model_name="m",runtime="TF1"} 1`,
		`:tensorflow:serving:batching_session:processed_batch_size_sum 2`,
		`:tensorflow:serving:batching_session:queuing_latency_count{thread_pool_name="model_server_batch_threads"} 1`,
		`millrace_serving_shadow_requests_total{model="m",result="dropped"} 0`, `millrace_serving_cache_hits_total{model="m"} 0`, `millrace_serving_cache_bytes{model="m"} 0`,
		`millrace_serving_batch_fill_ratio_sum{model="m",signature="serving_default",version="1"} 0.5`,
		`millrace_serving_batch_queue_requests{model="m",signature="serving_default",version="1"} 0`,
		`millrace_serving_batch_queue_oldest_seconds{model="m",signature="serving_default",version="1"} 0`,
		"millrace_serving_requests_in_flight 0", "millrace_serving_request_memory_ratio 0",
		`millrace_serving_model_version_state{model="m",state="AVAILABLE",version="1"} 1`,
		`millrace_serving_batch_rows_sum{model="m",signature="serving_default",version="1"} 2`,
		`millrace_serving_batches_total{model="m",ok="true",signature="serving_default",version="1"} 1`,
		"millrace_tensor_bytes", "go_goroutines",
	} {
		if !strings.Contains(figures, want) {
			t.Errorf("the metrics lack %s:\n%s", want, figures)
		}
	}
	if home := get(t, "http://"+at["http"]+"/"); !strings.Contains(home, "<title>Millrace</title>") {
		t.Errorf("the page is %s", home)
	}
	if code, log := stop(); code != 0 || !strings.Contains(log, "msg=draining cause=SIGTERM") || !strings.Contains(log, "state=END") {
		t.Errorf("ended with code %d:\n%s", code, log)
	}
}

// TensorFlow Serving's config file names models and labels.
func TestServeConfigFile(t *testing.T) {
	dir, err := filepath.Abs("../../testdata/models")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "models.config")
	text := fmt.Sprintf(`model_config_list { config { name: "a" base_path: %q version_labels { key: "stable" value: 1 } } config { name: "b" base_path: %q } }`, dir+"/constant", dir+"/linear")
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	at, stop := startServe(t, "--model_config_file", config)
	for _, path := range []string{"a/labels/stable", "b/versions/1"} {
		if got := get(t, "http://"+at["http"]+"/v1/models/"+path); !strings.Contains(got, "AVAILABLE") {
			t.Errorf("%s: %s", path, got)
		}
	}
	if code, log := stop(); code != 0 {
		t.Errorf("ended with code %d:\n%s", code, log)
	}
}

// A loader's processing becomes a signature whose inputs are the features of the
// manifest.
func TestServeLoader(t *testing.T) {
	at, stop := startServe(t, "--model", "m=../../examples/digits/model", "--loader", "m=../../examples/digits/predict.json")
	image := "[" + strings.Repeat("0, ", 63) + "16]"
	r, err := http.Post("http://"+at["http"]+"/v1/models/m:predict", "application/json",
		strings.NewReader(`{"signature_name": "examples", "examples": [{"image": `+image+`, "label": 3}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if text, err := io.ReadAll(r.Body); err != nil || r.StatusCode != 200 || !strings.Contains(string(text), `"digit":`) {
		t.Errorf("got %s, %v", text, err)
	}
	if code, log := stop(); code != 0 {
		t.Errorf("ended with code %d:\n%s", code, log)
	}
}

func TestServeFails(t *testing.T) {
	testruntime.Need(t)
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte("nothing: 1"), 0o644); err != nil {
		t.Fatal(err)
	}
	model := "m=../../testdata/models/constant"
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, taken, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no model", nil, 2, "--model is missing"},
		{"no name", []string{"--model", "dir"}, 2, "want NAME=DIR"},
		{"no folder", []string{"--model", "m=" + file + "x"}, 7, "no such file"},
		{"an unsafe model", []string{"--model", "m=../../testdata/models/writes_file"}, 4, "WriteFile"},
		{"another config", []string{"--model_config_file", file}, 2, file},
		{"other batching parameters", []string{"--model", model, "--enable_batching", "--batching_parameters_file", file}, 2, file},
		{"another SSLConfig", []string{"--model", model, "--ssl_config_file", file}, 2, file},
		{"another SSLConfig without gRPC", []string{"--model", model, "--port", "0", "--ssl_config_file", file}, 2, file},
		{"no port", []string{"--model", model, "--port", "65536"}, 2, "--port 65536: want a port up to 65535"},
		{"no port for HTTP", []string{"--model", model, "--rest_api_port", "-2"}, 2, "--rest_api_port -2"},
		{"no config of a loader", []string{"--model", model, "--loader", "m"}, 2, "--loader m: want NAME=CONFIG"},
		{"another config of a loader", []string{"--model", model, "--loader", "m=" + file}, 2, file},
		{"a loader of another model", []string{"--model", model, "--loader", "x=../../examples/digits/predict.json"}, 2, `no model x is served, only ["m"]`},
		{"a loader of other tensors", []string{"--model", model, "--loader", "m=../../examples/digits/predict.json"}, 4, "the loader feeds no signature"},
		{"no such address", []string{"--model", model, "--host", "256.1.1.1"}, 7, "--port -1: "},
		{"a port of another", []string{"--model", model, "--port", taken}, 7, "--port " + taken + ": another process listens there"},
		{"an argument", []string{"--model", model, "more"}, 2, `unexpected argument "more"`},
		{"a config of a loader that is missing", []string{"--model", model, "--loader", "m=" + file + "x"}, 7, file + "x"},
		{"a rate above 1", []string{"--model", model, "--request-log", file, "--request-log-rate", "2"}, 2, "--request-log-rate 2: want a share from 0 to 1"},
		{"a rate of no log", []string{"--model", model, "--request-log-rate", "1"}, 2, "--request-log-rate means nothing without --request-log"},
		{"parameters of no batching", []string{"--model", model, "--batching_parameters_file", file}, 2, "means nothing without --enable_batching"},
		{"no URL of a collector", []string{"--model", model, "--otlp-endpoint", "localhost:4318"}, 2, "the endpoint localhost:4318 is no URL of a collector"},
		{"a time that is over", []string{"--model", model, "--drain", "-1s"}, 2, "--drain -1s: want a time such as 30s"},
	}
	for _, tt := range tests {
		var stderr strings.Builder
		p := &cli.Program{Stdout: io.Discard, Stderr: &stderr}
		code := runLine(t.Context(), p, append([]string{"serve", "--port", "-1", "--rest_api_port", "-1"}, tt.args...))
		if code != tt.code || !strings.Contains(stderr.String(), tt.want) {
			t.Errorf("%s: code %d, want %d and %q:\n%s", tt.name, code, tt.code, tt.want, &stderr)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("at once"))
	if code := runLine(ctx, &cli.Program{Stdout: io.Discard, Stderr: io.Discard}, []string{"serve", "--model", "m=" + t.TempDir()}); code == 0 {
		t.Error("a server that never served ended with code 0")
	}
}
