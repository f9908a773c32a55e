package rpc

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/identity"
	"millrace/internal/test/testruntime"
	"millrace/serving"
	"millrace/serving/batching"
	"millrace/tfbridge"
)

const testdata = "../../testdata/models/"

// start serves models of testdata by their names, in batches, and returns a
// client.
func start(t *testing.T, o *Options, models ...string) *grpc.ClientConn {
	t.Helper()
	testruntime.Need(t)
	var configs []serving.ModelConfig
	for _, name := range models {
		configs = append(configs, serving.ModelConfig{Name: name, BasePath: testdata + name, VersionLabels: map[string]int64{"stable": 1}})
	}
	quiet := slog.New(slog.DiscardHandler)
	s, err := serving.New(t.Context(), configs, &serving.Options{FileSystemPollWait: -1, Logger: quiet, Batching: &batching.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	if o == nil {
		o = &Options{}
	}
	o.Logger = quiet
	server := NewServer(s, o)
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	conn := dial(t, l.Addr().String(), insecure.NewCredentials())
	t.Cleanup(func() { conn.Close(); server.GracefulStop(); s.Close() })
	return conn
}

// dial returns a client.
func dial(t *testing.T, addr string, c credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(c))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// ask calls a method.
func ask[A any](t *testing.T, conn *grpc.ClientConn, method string, q proto.Message) (*A, error) {
	t.Helper()
	a := new(A)
	return a, conn.Invoke(t.Context(), "/tensorflow.serving."+method, q, a)
}

// spec names a model and a signature.
func spec(model, signature string) *servingproto.ModelSpec {
	return &servingproto.ModelSpec{Name: model, SignatureName: signature}
}

// floats is a vector.
func floats(v ...float32) *tfproto.TensorProto {
	return &tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, FloatVal: v, TensorShape: shape(int64(len(v)))}
}

func shape(dims ...int64) *tfproto.TensorShapeProto {
	s := &tfproto.TensorShapeProto{}
	for _, n := range dims {
		s.Dim = append(s.Dim, &tfproto.TensorShapeProto_Dim{Size: n})
	}
	return s
}

// examples are Examples with x.
func examples(values ...float32) *servingproto.Input {
	list := &servingproto.ExampleList{}
	for _, x := range values {
		f := &tfproto.Feature{Kind: &tfproto.Feature_FloatList{FloatList: &tfproto.FloatList{Value: []float32{x}}}}
		list.Examples = append(list.Examples, &tfproto.Example{Features: &tfproto.Features{Feature: map[string]*tfproto.Feature{"x": f}}})
	}
	return &servingproto.Input{Kind: &servingproto.Input_ExampleList{ExampleList: list}}
}

func TestPredict(t *testing.T) {
	conn := start(t, nil, "constant", "two_signatures")
	for _, q := range []*servingproto.PredictRequest{
		{ModelSpec: spec("constant", ""), Inputs: map[string]*tfproto.TensorProto{"x": floats(1, 2)}},
		{ModelSpec: &servingproto.ModelSpec{Name: "constant", VersionChoice: &servingproto.ModelSpec_VersionLabel{VersionLabel: "stable"}}, Inputs: map[string]*tfproto.TensorProto{"x": floats(1, 2)}},
		{ModelSpec: &servingproto.ModelSpec{Name: "constant", VersionChoice: &servingproto.ModelSpec_Version{Version: wrapperspb.Int64(1)}},
			Inputs: map[string]*tfproto.TensorProto{"x": {Dtype: tfproto.DataType_DT_FLOAT, TensorShape: shape(2), TensorContent: []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}}}},
	} {
		a, err := ask[servingproto.PredictResponse](t, conn, "PredictionService/Predict", q)
		if err != nil {
			t.Fatal(err)
		}
		y := a.Outputs["y"]
		if !slices.Equal(y.GetFloatVal(), []float32{3, 5}) || y.Dtype != tfproto.DataType_DT_FLOAT || !proto.Equal(y.TensorShape, shape(2)) {
			t.Errorf("got %v", a)
		}
		if s := a.ModelSpec; s.Name != "constant" || s.GetVersion().GetValue() != 1 || s.SignatureName != "serving_default" {
			t.Errorf("the answer is of %v", s)
		}
	}
	q := &servingproto.PredictRequest{ModelSpec: spec("two_signatures", "explain"), OutputFilter: []string{"weight"}, Inputs: map[string]*tfproto.TensorProto{"x": floats(1)}}
	a, err := ask[servingproto.PredictResponse](t, conn, "PredictionService/Predict", q)
	if err != nil || len(a.Outputs) != 1 || a.Outputs["weight"].GetFloatVal()[0] != 3 {
		t.Errorf("one output: %v, %v", a, err)
	}
}

func TestExamples(t *testing.T) {
	var told []Request
	conn := start(t, &Options{OnRequest: func(r Request) { told = append(told, r) }}, "examples")
	classified, err := ask[servingproto.ClassificationResponse](t, conn, "PredictionService/Classify",
		&servingproto.ClassificationRequest{ModelSpec: spec("examples", "classify"), Input: examples(1, 2)})
	if err != nil {
		t.Fatal(err)
	}
	if all := classified.Result.Classifications; len(all) != 2 || all[1].Classes[1].Label != "double" || all[1].Classes[1].Score != 4 {
		t.Errorf("classes: %v", classified)
	}
	regressed, err := ask[servingproto.RegressionResponse](t, conn, "PredictionService/Regress",
		&servingproto.RegressionRequest{ModelSpec: spec("examples", "regress"), Input: examples(1, 2)})
	if err != nil || len(regressed.Result.Regressions) != 2 || regressed.Result.Regressions[1].Value != 4 || regressed.ModelSpec.GetVersion().GetValue() != 1 {
		t.Errorf("regressions: %v, %v", regressed, err)
	}
	both, err := ask[servingproto.MultiInferenceResponse](t, conn, "PredictionService/MultiInference", &servingproto.MultiInferenceRequest{
		Input: examples(3), Tasks: []*servingproto.InferenceTask{
			{ModelSpec: spec("examples", "classify"), MethodName: "tensorflow/serving/classify"},
			{ModelSpec: spec("examples", "regress"), MethodName: "tensorflow/serving/regress"},
		}})
	if err != nil || len(both.Results) != 2 || both.Results[0].GetClassificationResult().Classifications[0].Classes[0].Score != 3 ||
		both.Results[1].GetRegressionResult().Regressions[0].Value != 6 || both.Results[1].ModelSpec.SignatureName != "regress" {
		t.Errorf("both: %v, %v", both, err)
	}
	for i, method := range []string{"Classify", "Regress", "MultiInference"} {
		if r := told[i]; r.Model != "examples" || r.Method != method || r.Code != tfbridge.OK || r.Took <= 0 || r.Version != 1 {
			t.Errorf("told of %+v", r)
		}
	}
}

func TestModels(t *testing.T) {
	conn := start(t, nil, "constant")
	state, err := ask[servingproto.GetModelStatusResponse](t, conn, "ModelService/GetModelStatus", &servingproto.GetModelStatusRequest{ModelSpec: spec("constant", "")})
	if err != nil || len(state.ModelVersionStatus) != 1 || state.ModelVersionStatus[0].State != servingproto.ModelVersionStatus_AVAILABLE || state.ModelVersionStatus[0].Version != 1 {
		t.Errorf("status: %v, %v", state, err)
	}
	meta, err := ask[servingproto.GetModelMetadataResponse](t, conn, "PredictionService/GetModelMetadata",
		&servingproto.GetModelMetadataRequest{ModelSpec: spec("constant", ""), MetadataField: []string{"signature_def"}})
	if err != nil {
		t.Fatal(err)
	}
	packed := meta.Metadata["signature_def"]
	var signatures servingproto.SignatureDefMap
	if err := proto.Unmarshal(packed.Value, &signatures); err != nil || packed.TypeUrl != "type.googleapis.com/tensorflow.serving.SignatureDefMap" ||
		signatures.SignatureDef["serving_default"].Inputs["x"].Dtype != tfproto.DataType_DT_FLOAT || meta.ModelSpec.GetVersion().GetValue() != 1 {
		t.Errorf("metadata: %v, %v", meta, err)
	}
	config := func(name string) *servingproto.ReloadConfigRequest {
		list := &servingproto.ModelConfigList{Config: []*servingproto.ModelConfig{{Name: name, BasePath: testdata + name, ModelPlatform: "tensorflow"}}}
		return &servingproto.ReloadConfigRequest{Config: &servingproto.ModelServerConfig{Config: &servingproto.ModelServerConfig_ModelConfigList{ModelConfigList: list}}}
	}
	if a, err := ask[servingproto.ReloadConfigResponse](t, conn, "ModelService/HandleReloadConfigRequest", config("linear")); err != nil || a.Status.ErrorCode != 0 {
		t.Errorf("reload: %v, %v", a, err)
	}
	for name, want := range map[string]codes.Code{"linear": codes.OK, "constant": codes.NotFound} {
		q := &servingproto.GetModelMetadataRequest{ModelSpec: spec(name, ""), MetadataField: []string{"signature_def"}}
		if _, err := ask[servingproto.GetModelMetadataResponse](t, conn, "PredictionService/GetModelMetadata", q); status.Code(err) != want {
			t.Errorf("after the reload %s: %v, want %v", name, err, want)
		}
	}
	if _, err := ask[servingproto.ReloadConfigResponse](t, conn, "ModelService/HandleReloadConfigRequest", &servingproto.ReloadConfigRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a reload of nothing: %v", err)
	}
	health := grpc_health_v1.NewHealthClient(conn)
	if a, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil || a.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", a, err)
	}
}

func TestRefusals(t *testing.T) {
	conn := start(t, &Options{MaxTensorBytes: 1000}, "constant", "examples", "countdown")
	x := func(p *tfproto.TensorProto) map[string]*tfproto.TensorProto {
		return map[string]*tfproto.TensorProto{"x": p}
	}
	tests := []struct {
		name string
		q    *servingproto.PredictRequest
		code codes.Code
		want string
	}{
		{"no model", &servingproto.PredictRequest{}, codes.InvalidArgument, "names no model"},
		{"another model", &servingproto.PredictRequest{ModelSpec: spec("other", "")}, codes.NotFound, "Latest(other)"},
		{"another signature", &servingproto.PredictRequest{ModelSpec: spec("constant", "train")}, codes.FailedPrecondition, `"train" not found`},
		{"no input", &servingproto.PredictRequest{ModelSpec: spec("constant", "")}, codes.InvalidArgument, `missing ["x"]`},
		{"another input", &servingproto.PredictRequest{ModelSpec: spec("constant", ""), Inputs: map[string]*tfproto.TensorProto{"x": floats(1), "z": floats(1)}}, codes.InvalidArgument, `extra ["z"]`},
		{"another output", &servingproto.PredictRequest{ModelSpec: spec("constant", ""), Inputs: x(floats(1)), OutputFilter: []string{"z"}}, codes.InvalidArgument, "output_filter names z"},
		{"an output twice", &servingproto.PredictRequest{ModelSpec: spec("constant", ""), Inputs: x(floats(1)), OutputFilter: []string{"y", "y"}}, codes.InvalidArgument, "twice"},
		{"another type", &servingproto.PredictRequest{ModelSpec: spec("constant", ""), Inputs: x(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_INT32, TensorShape: shape(1)})}, codes.InvalidArgument, "float32"},
		{"no type", &servingproto.PredictRequest{ModelSpec: spec("constant", ""), Inputs: x(&tfproto.TensorProto{})}, codes.InvalidArgument, "cannot be sent"},
		{"a variant", &servingproto.PredictRequest{ModelSpec: spec("constant", ""), Inputs: x(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_VARIANT})}, codes.InvalidArgument, "cannot be sent"},
		{"no shape", &servingproto.PredictRequest{ModelSpec: spec("constant", ""), Inputs: x(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, TensorShape: &tfproto.TensorShapeProto{UnknownRank: true}})}, codes.InvalidArgument, "no shape"},
		{"a negative dimension", &servingproto.PredictRequest{ModelSpec: spec("constant", ""), Inputs: x(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, TensorShape: shape(-1)})}, codes.InvalidArgument, "-1"},
		{"a huge tensor", &servingproto.PredictRequest{ModelSpec: spec("constant", ""), Inputs: x(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, TensorShape: shape(1 << 40), FloatVal: []float32{1}})}, codes.ResourceExhausted, "1000 are allowed"},
		{"content too short", &servingproto.PredictRequest{ModelSpec: spec("constant", ""), Inputs: x(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT, TensorShape: shape(2), TensorContent: []byte{1, 2}})}, codes.InvalidArgument, "2 elements"},
	}
	for _, tt := range tests {
		_, err := ask[servingproto.PredictResponse](t, conn, "PredictionService/Predict", tt.q)
		if status.Code(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %v and %q", tt.name, err, tt.code, tt.want)
		}
	}
	task := func(model, signature, method string) *servingproto.InferenceTask {
		return &servingproto.InferenceTask{ModelSpec: spec(model, signature), MethodName: "tensorflow/serving/" + method}
	}
	for name, tt := range map[string]struct {
		tasks []*servingproto.InferenceTask
		code  codes.Code
	}{
		"no tasks":              {nil, codes.InvalidArgument},
		"two models":            {[]*servingproto.InferenceTask{task("examples", "classify", "classify"), task("constant", "regress", "regress")}, codes.InvalidArgument},
		"a signature twice":     {[]*servingproto.InferenceTask{task("examples", "classify", "classify"), task("examples", "classify", "classify")}, codes.InvalidArgument},
		"another method":        {[]*servingproto.InferenceTask{task("examples", "classify", "predict")}, codes.Unimplemented},
		"a task without model":  {[]*servingproto.InferenceTask{task("examples", "classify", "classify"), {}}, codes.InvalidArgument},
		"a signature that none": {[]*servingproto.InferenceTask{task("examples", "train", "classify")}, codes.FailedPrecondition},
	} {
		q := &servingproto.MultiInferenceRequest{Input: examples(1), Tasks: tt.tasks}
		if _, err := ask[servingproto.MultiInferenceResponse](t, conn, "PredictionService/MultiInference", q); status.Code(err) != tt.code {
			t.Errorf("%s: got %v, want %v", name, err, tt.code)
		}
	}
	q := &servingproto.ClassificationRequest{ModelSpec: spec("examples", "classify"), Input: &servingproto.Input{}}
	if _, err := ask[servingproto.ClassificationResponse](t, conn, "PredictionService/Classify", q); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "Input is empty") {
		t.Errorf("no Examples: %v", err)
	}
	for _, field := range [][]string{nil, {"other"}} {
		q := &servingproto.GetModelMetadataRequest{ModelSpec: spec("constant", ""), MetadataField: field}
		if _, err := ask[servingproto.GetModelMetadataResponse](t, conn, "PredictionService/GetModelMetadata", q); status.Code(err) != codes.InvalidArgument {
			t.Errorf("metadata of %q: %v", field, err)
		}
	}
	if _, err := ask[servingproto.GetModelStatusResponse](t, conn, "ModelService/GetModelStatus", &servingproto.GetModelStatusRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("the status of nothing: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	endless := &servingproto.PredictRequest{ModelSpec: spec("countdown", ""), Inputs: map[string]*tfproto.TensorProto{"n": {Dtype: tfproto.DataType_DT_INT64, TensorShape: shape(), Int64Val: []int64{-1}}}}
	if err := conn.Invoke(ctx, "/tensorflow.serving.PredictionService/Predict", endless, &servingproto.PredictResponse{}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a model that never ends: %v", err)
	}
}

// With mutual TLS only clients with a certificate get an answer.
func TestMutualTLS(t *testing.T) {
	testruntime.Need(t)
	own := identity.New(t)
	conn := start(t, &Options{TLS: &tls.Config{Certificates: []tls.Certificate{own.TLS}, ClientCAs: own.Pool, ClientAuth: tls.RequireAndVerifyClientCert}}, "constant")
	for name, tt := range map[string]struct {
		credentials credentials.TransportCredentials
		want        codes.Code
	}{
		"plain":          {insecure.NewCredentials(), codes.Unavailable},
		"no certificate": {credentials.NewTLS(&tls.Config{ServerName: "localhost", RootCAs: own.Pool}), codes.Unavailable},
		"a certificate":  {credentials.NewTLS(&tls.Config{ServerName: "localhost", RootCAs: own.Pool, Certificates: []tls.Certificate{own.TLS}}), codes.OK},
	} {
		client := dial(t, conn.Target(), tt.credentials)
		_, err := ask[servingproto.GetModelStatusResponse](t, client, "ModelService/GetModelStatus", &servingproto.GetModelStatusRequest{ModelSpec: spec("constant", "")})
		if status.Code(err) != tt.want {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		client.Close()
	}
}

// OnRequest gets the model, the method and the code of each request, for metrics.
func TestOnRequest(t *testing.T) {
	var mu sync.Mutex
	var got []string
	conn := start(t, &Options{OnRequest: func(r Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprint(r.Model, " ", r.Method, " ", r.Code))
	}}, "constant", "examples")
	send := func(method string, q, a proto.Message) {
		_ = conn.Invoke(t.Context(), "/tensorflow.serving.PredictionService/"+method, q, a) // other tests look at the answers
	}
	task := &servingproto.InferenceTask{ModelSpec: spec("examples", "classify"), MethodName: "tensorflow/serving/classify"}
	send("Predict", &servingproto.PredictRequest{ModelSpec: spec("constant", ""), Inputs: map[string]*tfproto.TensorProto{"x": floats(1)}}, &servingproto.PredictResponse{})
	send("Predict", &servingproto.PredictRequest{ModelSpec: spec("nowhere", "")}, &servingproto.PredictResponse{})
	send("Classify", &servingproto.ClassificationRequest{ModelSpec: spec("examples", "classify"), Input: examples(1)}, &servingproto.ClassificationResponse{})
	send("MultiInference", &servingproto.MultiInferenceRequest{Tasks: []*servingproto.InferenceTask{task}, Input: examples(1)}, &servingproto.MultiInferenceResponse{})
	send("MultiInference", &servingproto.MultiInferenceRequest{}, &servingproto.MultiInferenceResponse{})
	mu.Lock()
	defer mu.Unlock()
	want := []string{"constant Predict ok", "nowhere Predict not found", "examples Classify ok", "examples MultiInference ok", " MultiInference invalid argument"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got)\n%s", diff)
	}
}
