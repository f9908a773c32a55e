package rpc

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"millrace/serving/auth"
)

// A client without descriptors finds the services by reflection, builds their messages,
// and calls a method with them.
func TestReflection(t *testing.T) {
	conn := start(t, nil, "constant")
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(q *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
		t.Helper()
		if err := stream.Send(q); err != nil {
			t.Fatal(err)
		}
		a, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	var names []string
	for _, s := range ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().GetService() {
		names = append(names, s.Name)
	}
	want := []string{"grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", inferenceService, modelService, predictionService}
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("the services are %q, want %q", names, want)
	}
	var set descriptorpb.FileDescriptorSet // the server sends each file once
	for _, service := range want {
		a := ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service}})
		for _, raw := range a.GetFileDescriptorResponse().GetFileDescriptorProto() {
			f := &descriptorpb.FileDescriptorProto{}
			if err := proto.Unmarshal(raw, f); err != nil {
				t.Fatal(err)
			}
			set.File = append(set.File, f)
		}
		files, err := protodesc.NewFiles(&set)
		if err != nil {
			t.Errorf("%s: %v", service, err)
			continue
		}
		d, err := files.FindDescriptorByName(protoreflect.FullName(service))
		if err != nil {
			t.Errorf("%s: %v", service, err)
		} else if service == modelService {
			m := d.(protoreflect.ServiceDescriptor).Methods().ByName("GetModelStatus")
			q, got := dynamicpb.NewMessage(m.Input()), dynamicpb.NewMessage(m.Output())
			spec := q.Mutable(m.Input().Fields().ByName("model_spec")).Message()
			spec.Set(spec.Descriptor().Fields().ByName("name"), protoreflect.ValueOfString("constant"))
			if err := conn.Invoke(t.Context(), "/"+service+"/GetModelStatus", q, got); err != nil || !strings.Contains(got.String(), "AVAILABLE") {
				t.Errorf("by its descriptors the service answers %v, %v", got, err)
			}
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end of the stream: %v", err)
	}
}

// Only authenticated clients can list the services.
func TestReflectionAuthenticated(t *testing.T) {
	nobody := func(context.Context, *auth.Request) (string, error) { return "", auth.Unauthenticated("no") }
	conn := start(t, &Options{Authenticate: nobody}, "constant")
	stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unauthenticated {
		t.Errorf("got %v", err)
	}
}
