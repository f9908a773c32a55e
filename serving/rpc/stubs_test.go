package rpc

import (
	"encoding/json"
	"os"
	"path"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/servingproto"
)

// raw is a codec for messages that are already serialized.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error)      { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error { *v.(*[]byte) = data; return nil }
func (raw) Name() string                       { return "proto" }

// Requests from the stubs of PyPI's tensorflow-serving-api get the answers that the
// stubs recorded, by testdata/record_stubs.py.
func TestStubs(t *testing.T) {
	conn := start(t, nil, "examples")
	text, err := os.ReadFile("testdata/stubs.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded []struct {
		Method          string
		Request, Answer []byte
		Code            codes.Code
	}
	if err := json.Unmarshal(text, &recorded); err != nil || len(recorded) == 0 {
		t.Fatal(err)
	}
	answers := map[string]func() proto.Message{
		"Predict": func() proto.Message { return &servingproto.PredictResponse{} }, "Classify": func() proto.Message { return &servingproto.ClassificationResponse{} },
		"Regress": func() proto.Message { return &servingproto.RegressionResponse{} }, "MultiInference": func() proto.Message { return &servingproto.MultiInferenceResponse{} },
		"GetModelMetadata": func() proto.Message { return &servingproto.GetModelMetadataResponse{} }, "GetModelStatus": func() proto.Message { return &servingproto.GetModelStatusResponse{} },
	}
	for i, r := range recorded {
		var answer []byte
		err := conn.Invoke(t.Context(), "/"+r.Method, &r.Request, &answer, grpc.ForceCodec(raw{}))
		if status.Code(err) != r.Code {
			t.Errorf("request %d, %s: %v, want code %v", i, r.Method, err, r.Code)
			continue
		}
		message := answers[path.Base(r.Method)]
		got, want := message(), message()
		if err := proto.Unmarshal(answer, got); err != nil {
			t.Error(err)
		}
		if err := proto.Unmarshal(r.Answer, want); err != nil {
			t.Error(err)
		}
		if !proto.Equal(got, want) {
			t.Errorf("request %d, %s: got %v, want %v", i, r.Method, got, want)
		}
	}
}
