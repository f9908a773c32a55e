package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// writeModels writes a model config file that serves models of testdata by their names.
func writeModels(t *testing.T, file string, names ...string) {
	t.Helper()
	dir, err := filepath.Abs("../../testdata/models")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "config { name: %q base_path: %q }\n", name, filepath.Join(dir, name))
	}
	if err := os.WriteFile(file, []byte("model_config_list { "+text.String()+"}"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// statusOf returns the status of a request without a body, 0 if there is no answer.
func statusOf(url string) int {
	a, err := http.Get(url)
	if err != nil {
		return 0
	}
	io.Copy(io.Discard, a.Body)
	a.Body.Close()
	return a.StatusCode
}

// until repeats ok until it returns true, for a minute at most.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !ok() {
		if ctx.Err() != nil {
			t.Fatalf("gave up waiting: %s", what)
		}
	}
}

// probeCode returns the exit code of a probe.
func probeCode(t *testing.T, args ...string) int {
	t.Helper()
	probe := exec.CommandContext(t.Context(), "millrace", append([]string{"serve", "--probe"}, args...)...)
	probe.Run()
	return probe.ProcessState.ExitCode()
}

// A server reads its config file at SIGHUP. At SIGTERM it stops being ready, still
// answers for the time of --drain-delay, and ends with exit code 0.
func TestServeLifetime(t *testing.T) {
	dir := t.TempDir()
	config, socket := filepath.Join(dir, "models.config"), filepath.Join(dir, "s")
	writeModels(t, config, "constant")
	monitoring := filepath.Join(dir, "monitoring.config")
	if err := os.WriteFile(monitoring, []byte(`prometheus_config { enable: true path: "/my/metrics" }`), 0o644); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGHUP) // as nohup does
	defer signal.Reset(syscall.SIGHUP)
	server, at := startServer(t, "--model_config_file", config, "--grpc_socket_path", socket, "--drain-delay", "1s", "--prefer_tflite_model=true", "--monitoring_config_file", monitoring)
	url := "http://" + at["http"]
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	healthy := func(service string) bool {
		a, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
		return err == nil && a.Status == grpc_health_v1.HealthCheckResponse_SERVING
	}
	if mine, usual := statusOf(url+"/my/metrics"), statusOf(url+"/monitoring/prometheus/metrics"); mine != http.StatusOK || usual != http.StatusNotFound {
		t.Errorf("metrics: status %d at the path of --monitoring_config_file, %d at the usual one", mine, usual)
	}
	_, port, err := net.SplitHostPort(at["http"])
	if err != nil {
		t.Fatal(err)
	}
	if code := probeCode(t, "--rest_api_port", port); code != 0 {
		t.Errorf("a probe of a server that is ready: exit code %d", code)
	}
	if code := probeCode(t, "--rest_api_port", "0", "--port", "0", "--grpc_socket_path", socket); code != 0 {
		t.Errorf("a probe by the socket: exit code %d", code)
	}
	if !healthy("") || !healthy("constant") || healthy("linear") {
		t.Errorf("health: %v, constant %v, linear %v", healthy(""), healthy("constant"), healthy("linear"))
	}

	writeModels(t, config, "linear")
	server.Process.Signal(syscall.SIGHUP)
	until(t, "the new model is served", func() bool { return healthy("linear") })
	until(t, "the old model is gone", func() bool { return !healthy("constant") })

	server.Process.Signal(syscall.SIGTERM)
	until(t, "not ready", func() bool { return statusOf(url+"/readyz") == http.StatusServiceUnavailable })
	if got := statusOf(url + "/v1/models/linear"); got != http.StatusOK {
		t.Errorf("a request during --drain-delay gets status %d", got)
	}
	if got := statusOf(url + "/healthz"); got != http.StatusOK {
		t.Errorf("/healthz of a server that drains: %d", got)
	}
	if healthy("") || healthy("linear") {
		t.Error("gRPC's health service says that a server that drains serves")
	}
	if code := probeCode(t, "--rest_api_port", port); code != 7 {
		t.Errorf("a probe of a server that drains: exit code %d, want 7", code)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	if _, err := os.Lstat(socket); err == nil {
		t.Error("the socket is left behind")
	}
}

// By its TensorFlow Serving name the program accepts TensorFlow Serving's flags.
func TestServingName(t *testing.T) {
	testModel, err := filepath.Abs("../../testdata/models/constant")
	if err != nil {
		t.Fatal(err)
	}
	const name = "tensorflow_model_server"
	out, err := exec.CommandContext(t.Context(), name, "--version").Output()
	if err != nil || !strings.Contains(string(out), "TensorFlow ModelServer: ") || !strings.Contains(string(out), "\nTensorFlow Library: 2.") {
		t.Errorf("--version: %s, %v", out, err)
	}
	text, err := exec.CommandContext(t.Context(), name, "--model_base_path="+testModel, "--prot=1").CombinedOutput()
	if err == nil || !strings.Contains(string(text), "did you mean --port?") {
		t.Errorf("an unknown flag: %s, %v", text, err)
	}
}
