package rpc

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "millrace/internal/base/inferenceproto"
)

// askV2 calls a method of the Open Inference Protocol.
func askV2[A any](t *testing.T, conn *grpc.ClientConn, method string, q proto.Message) (*A, error) {
	t.Helper()
	a := new(A)
	return a, conn.Invoke(t.Context(), "/inference.GRPCInferenceService/"+method, q, a)
}

func TestV2Metadata(t *testing.T) {
	conn := start(t, nil, "linear")
	live, err := askV2[pb.ServerLiveResponse](t, conn, "ServerLive", &pb.ServerLiveRequest{})
	if err != nil || !live.Live {
		t.Errorf("live: %v, %v", live, err)
	}
	ready, err := askV2[pb.ServerReadyResponse](t, conn, "ServerReady", &pb.ServerReadyRequest{})
	if err != nil || !ready.Ready {
		t.Errorf("ready: %v, %v", ready, err)
	}
	server, err := askV2[pb.ServerMetadataResponse](t, conn, "ServerMetadata", &pb.ServerMetadataRequest{})
	if err != nil || server.Name != "millrace" {
		t.Errorf("the server: %v, %v", server, err)
	}
	for version, want := range map[string]bool{"": true, "1": true, "stable": true, "2": false, "blue": false} {
		has, err := askV2[pb.ModelReadyResponse](t, conn, "ModelReady", &pb.ModelReadyRequest{Name: "linear", Version: version})
		if err != nil || has.Ready != want {
			t.Errorf("version %q is ready: %v, %v", version, has, err)
		}
	}
	model, err := askV2[pb.ModelMetadataResponse](t, conn, "ModelMetadata", &pb.ModelMetadataRequest{Name: "linear"})
	want := &pb.ModelMetadataResponse{Name: "linear", Versions: []string{"1"}, Platform: "tensorflow_savedmodel",
		Inputs:  []*pb.ModelMetadataResponse_TensorMetadata{{Name: "x", Datatype: "FP32", Shape: []int64{-1, 3}}},
		Outputs: []*pb.ModelMetadataResponse_TensorMetadata{{Name: "y", Datatype: "FP32", Shape: []int64{-1, 2}}}}
	if err != nil || !proto.Equal(model, want) {
		t.Errorf("the model: %v, %v", model, err)
	}
	if _, err := askV2[pb.ModelMetadataResponse](t, conn, "ModelMetadata", &pb.ModelMetadataRequest{Name: "other"}); status.Code(err) != codes.NotFound {
		t.Errorf("another model: %v", err)
	}
}

// input is an input of a request, with or without typed contents.
func input(name, datatype string, contents *pb.InferTensorContents, shape ...int64) *pb.ModelInferRequest_InferInputTensor {
	return &pb.ModelInferRequest_InferInputTensor{Name: name, Datatype: datatype, Shape: shape, Contents: contents}
}

// Requests with typed and with raw contents get raw outputs.
func TestV2Infer(t *testing.T) {
	conn := start(t, nil, "constant", "strings", "two_signatures")
	fp32 := &pb.InferTensorContents{Fp32Contents: []float32{1, 2}}
	raw := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, math.Float32bits(1)), math.Float32bits(2))
	answer := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, math.Float32bits(3)), math.Float32bits(5))
	type inputs = []*pb.ModelInferRequest_InferInputTensor
	type outputs = []*pb.ModelInferRequest_InferRequestedOutputTensor
	explain := map[string]*pb.InferParameter{"signature_name": {ParameterChoice: &pb.InferParameter_StringParam{StringParam: "explain"}}}
	tests := []struct {
		name string
		q    *pb.ModelInferRequest
		want string // outputs, or the error
	}{
		{"typed", &pb.ModelInferRequest{Id: "7", ModelName: "constant", Inputs: inputs{input("x", "FP32", fp32, 2)}}, fmt.Sprintf("constant 1 7: y FP32 [2] %q", answer)},
		{"raw", &pb.ModelInferRequest{ModelName: "constant", ModelVersion: "stable", Inputs: inputs{input("x", "FP32", nil, 2)}, RawInputContents: [][]byte{raw}}, fmt.Sprintf("constant 1 : y FP32 [2] %q", answer)},
		{"bytes", &pb.ModelInferRequest{ModelName: "strings", Inputs: inputs{input("text", "BYTES", &pb.InferTensorContents{BytesContents: [][]byte{[]byte("a")}}, 1)}, Outputs: outputs{{Name: "upper"}}},
			`strings 1 : upper BYTES [1] "\x01\x00\x00\x00A"`},
		{"a signature", &pb.ModelInferRequest{ModelName: "two_signatures", Parameters: explain, Inputs: inputs{input("x", "FP32", fp32, 2)}, Outputs: outputs{{Name: "weight"}}}, `two_signatures 1 : weight FP32 [] "\x00\x00@@"`},
		{"no model", &pb.ModelInferRequest{ModelName: "other"}, "NotFound"},
		{"too few values", &pb.ModelInferRequest{ModelName: "constant", Inputs: inputs{input("x", "FP32", fp32, 3)}}, "InvalidArgument"},
		{"a shape that overflows", &pb.ModelInferRequest{ModelName: "constant", Inputs: inputs{input("x", "FP32", fp32, 1<<62, 4)}}, "ResourceExhausted"},
		{"an input twice", &pb.ModelInferRequest{ModelName: "constant", Inputs: inputs{input("x", "FP32", fp32, 2), input("x", "FP32", fp32, 2)}}, "InvalidArgument"},
		{"contents of both kinds", &pb.ModelInferRequest{ModelName: "constant", Inputs: inputs{input("x", "FP32", fp32, 2)}, RawInputContents: [][]byte{raw}}, "InvalidArgument"},
		{"raw contents for nothing", &pb.ModelInferRequest{ModelName: "constant", Inputs: inputs{input("x", "FP32", nil, 2)}, RawInputContents: [][]byte{raw, raw}}, "InvalidArgument"},
		{"another type", &pb.ModelInferRequest{ModelName: "constant", Inputs: inputs{input("x", "INT8", &pb.InferTensorContents{IntContents: []int32{1}}, 1)}}, "InvalidArgument"},
		{"a number that does not fit", &pb.ModelInferRequest{ModelName: "constant", Inputs: inputs{input("x", "INT8", &pb.InferTensorContents{IntContents: []int32{128}}, 1)}}, "128 is not a value"},
		{"half precision in typed contents", &pb.ModelInferRequest{ModelName: "constant", Inputs: inputs{input("x", "FP16", fp32, 2)}}, "raw_input_contents"},
		{"no such output", &pb.ModelInferRequest{ModelName: "constant", Inputs: inputs{input("x", "FP32", fp32, 2)}, Outputs: outputs{{Name: "z"}}}, "InvalidArgument"},
		{"no input", &pb.ModelInferRequest{ModelName: "constant"}, "InvalidArgument"},
	}
	for _, tt := range tests {
		a, err := askV2[pb.ModelInferResponse](t, conn, "ModelInfer", tt.q)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%s %s %s:", a.ModelName, a.ModelVersion, a.Id)
			for i, o := range a.Outputs {
				got += fmt.Sprintf(" %s %s %v %q", o.Name, o.Datatype, o.Shape, a.RawOutputContents[i])
			}
		}
		if err != nil && !strings.Contains(got, tt.want) || err == nil && got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
