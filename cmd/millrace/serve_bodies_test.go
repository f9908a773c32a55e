package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/testruntime"
)

// startServer starts serve as a separate process, on free ports, and returns the
// addresses of its interfaces once it listens.
func startServer(t *testing.T, args ...string) (server *exec.Cmd, addresses map[string]string) {
	t.Helper()
	testruntime.Need(t)
	server = exec.CommandContext(t.Context(), "millrace", append([]string{"serve", "--port", "-1", "--rest_api_port", "-1"}, args...)...)
	return server, startListening(t, server)
}

// A server in a separate process survives serialized Examples that crash TensorFlow's
// parsers, by both interfaces, and the answer says which Example it was.
func TestServeSurvivesExamples(t *testing.T) {
	server, at := startServer(t, "--model", "m=../../testdata/models/examples", "--enable_batching")
	conn, err := grpc.NewClient(at["grpc"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sound, killer := corrupt.UnpackedOf("x", 1), corrupt.UnpackedOf("x", 2_000_000)
	const want = `signature "classify": tensor "inputs": element 1: feature "x": 2000000 floats`
	for range 2 {
		if text, code := predictByREST(t, at["http"], sound, killer); code != http.StatusBadRequest || !strings.Contains(strings.ReplaceAll(text, `\"`, `"`), want) {
			t.Errorf("REST: %d %s", code, text)
		}
		if err := predictByRPC(t, conn, sound, killer); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("gRPC: %v", err)
		}
		if text, code := predictByREST(t, at["http"], sound); code != http.StatusOK {
			t.Errorf("a sound Example by REST: %d %s", code, text)
		}
		if err := predictByRPC(t, conn, sound); err != nil {
			t.Errorf("a sound Example by gRPC: %v", err)
		}
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// predictByREST sends serialized Examples, and returns the answer and its status.
func predictByREST(t *testing.T, address string, records ...[]byte) (string, int) {
	t.Helper()
	var body bytes.Buffer
	for i, r := range records {
		fmt.Fprintf(&body, `%s{"b64": "%s"}`, []string{"", ", "}[min(i, 1)], base64.StdEncoding.EncodeToString(r))
	}
	answer, err := http.Post("http://"+address+"/v1/models/m:predict", "application/json",
		strings.NewReader(`{"signature_name": "classify", "instances": [`+body.String()+`]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), answer.StatusCode
}

// predictByRPC sends serialized Examples.
func predictByRPC(t *testing.T, conn *grpc.ClientConn, records ...[]byte) error {
	t.Helper()
	shape := &tfproto.TensorShapeProto{Dim: []*tfproto.TensorShapeProto_Dim{{Size: int64(len(records))}}}
	q := &servingproto.PredictRequest{
		ModelSpec: &servingproto.ModelSpec{Name: "m", SignatureName: "classify"},
		Inputs:    map[string]*tfproto.TensorProto{"inputs": {Dtype: tfproto.DataType_DT_STRING, StringVal: records, TensorShape: shape}},
	}
	return conn.Invoke(t.Context(), "/tensorflow.serving.PredictionService/Predict", q, &servingproto.PredictResponse{})
}
