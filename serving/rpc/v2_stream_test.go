package rpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "millrace/internal/base/inferenceproto"
	"millrace/internal/test/testruntime"
	"millrace/serving"
	"millrace/serving/batching"
)

// A request of a stream has an answer for each step, the last one marked. One that fails has an
// error, and the stream continues.
func TestModelStreamInfer(t *testing.T) {
	testruntime.Need(t)
	quiet := slog.New(slog.DiscardHandler)
	configs := []serving.ModelConfig{{Name: "decoder", BasePath: testdata + "decoder", Sequences: []serving.SequenceConfig{{
		Feedback: map[string]string{"next_token": "token", "total": "state"}, EndOutput: "next_token"}}}, {Name: "constant", BasePath: testdata + "constant"}}
	s, err := serving.New(t.Context(), configs, &serving.Options{FileSystemPollWait: -1, Logger: quiet, Batching: &batching.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	versions := make(chan int64, 10)
	server := NewServer(s, &Options{Logger: quiet, OnRequest: func(r Request) { versions <- r.Version }})
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	defer server.GracefulStop()
	conn := dial(t, l.Addr().String(), insecure.NewCredentials())
	defer conn.Close()
	stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/inference.GRPCInferenceService/ModelStreamInfer")
	if err != nil {
		t.Fatal(err)
	}
	decode := func(token int64) *pb.ModelInferRequest {
		return &pb.ModelInferRequest{Id: fmt.Sprint(token), ModelName: "decoder", Outputs: []*pb.ModelInferRequest_InferRequestedOutputTensor{{Name: "next_token"}},
			Inputs: []*pb.ModelInferRequest_InferInputTensor{input("token", "INT64", &pb.InferTensorContents{Int64Contents: []int64{token}}, 1),
				input("state", "FP32", &pb.InferTensorContents{Fp32Contents: []float32{0, 0}}, 1, 2), input("step", "INT64", &pb.InferTensorContents{Int64Contents: []int64{1}}, 1)}}
	}
	short := decode(4)
	short.Parameters = map[string]*pb.InferParameter{"max_steps": {ParameterChoice: &pb.InferParameter_Int64Param{Int64Param: 2}}}
	other := &pb.ModelInferRequest{ModelName: "constant", Inputs: []*pb.ModelInferRequest_InferInputTensor{input("x", "FP32", &pb.InferTensorContents{Fp32Contents: []float32{1}}, 1)}}
	for _, tt := range []struct {
		q       *pb.ModelInferRequest
		want    []string
		version int64 // OnRequest gets it
	}{
		{decode(5), []string{"5: 2 false", "5: 0 true"}, 1},
		{&pb.ModelInferRequest{Id: "x", ModelName: "other"}, []string{"x: error Servable not found"}, 0},
		{short, []string{"4: 6 false", "4: 5 true"}, 1},
		{other, []string{": 1077936128 true"}, 1}, // the bits of 3
	} {
		if err := stream.SendMsg(tt.q); err != nil {
			t.Fatal(err)
		}
		for _, want := range tt.want {
			a := &pb.ModelStreamInferResponse{}
			if err := stream.RecvMsg(a); err != nil {
				t.Fatal(err)
			}
			got := a.InferResponse.GetId() + ": "
			if a.ErrorMessage != "" {
				got += "error " + a.ErrorMessage
			} else {
				raw := append(a.InferResponse.RawOutputContents[0], make([]byte, 8)...)
				got += fmt.Sprint(binary.LittleEndian.Uint64(raw), " ", a.InferResponse.Parameters["triton_final_response"].GetBoolParam())
			}
			if !strings.HasPrefix(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if got := <-versions; got != tt.version {
			t.Errorf("%v: version %d, want %d", tt.want, got, tt.version)
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(&pb.ModelStreamInferResponse{}); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}
