package rpc

import (
	"io"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"millrace"
	"millrace/internal/base/inferenceproto"
	"millrace/internal/base/servingproto"
)

/*
gRPC's reflection shows tools such as grpcurl which services there are, and what their
messages look like. Our Go messages live in proto packages below millrace, so that they do not
clash with others of the same program (see gen/protogen). Clients know them by their own names,
so the descriptors move back here, and get the services that the generator dropped.
*/

// movedTo is the parent of the proto packages of our Go messages.
const movedTo = "millrace"

// described is a service of the protocols: its file, and its methods with their messages.
type described struct {
	service string
	file    string // declares it
	methods []method
}

type method struct {
	name            string
	request, answer proto.Message
}

// allDescribed are the services.
func allDescribed() []described {
	return []described{{predictionService, "tensorflow_serving/apis/prediction_service.proto", []method{
		{"Predict", &servingproto.PredictRequest{}, &servingproto.PredictResponse{}},
		{"Classify", &servingproto.ClassificationRequest{}, &servingproto.ClassificationResponse{}},
		{"Regress", &servingproto.RegressionRequest{}, &servingproto.RegressionResponse{}},
		{"MultiInference", &servingproto.MultiInferenceRequest{}, &servingproto.MultiInferenceResponse{}},
		{"GetModelMetadata", &servingproto.GetModelMetadataRequest{}, &servingproto.GetModelMetadataResponse{}},
	}}, {modelService, "tensorflow_serving/apis/model_service.proto", []method{
		{"GetModelStatus", &servingproto.GetModelStatusRequest{}, &servingproto.GetModelStatusResponse{}},
		{"HandleReloadConfigRequest", &servingproto.ReloadConfigRequest{}, &servingproto.ReloadConfigResponse{}},
	}}, {inferenceService, "inference/grpc_predict_v2_service.proto", []method{
		{"ServerLive", &inferenceproto.ServerLiveRequest{}, &inferenceproto.ServerLiveResponse{}},
		{"ServerReady", &inferenceproto.ServerReadyRequest{}, &inferenceproto.ServerReadyResponse{}},
		{"ModelReady", &inferenceproto.ModelReadyRequest{}, &inferenceproto.ModelReadyResponse{}},
		{"ServerMetadata", &inferenceproto.ServerMetadataRequest{}, &inferenceproto.ServerMetadataResponse{}},
		{"ModelMetadata", &inferenceproto.ModelMetadataRequest{}, &inferenceproto.ModelMetadataResponse{}},
		{"ModelInfer", &inferenceproto.ModelInferRequest{}, &inferenceproto.ModelInferResponse{}},
		{streamInfer, &inferenceproto.ModelInferRequest{}, &inferenceproto.ModelStreamInferResponse{}},
	}}}
}

// descriptors returns the files of the services and their messages, under their
// original names.
func descriptors() (*protoregistry.Files, error) {
	files := &protoregistry.Files{}
	for _, s := range allDescribed() {
		pkg, name, _ := cutLast(s.service)
		f := &descriptorpb.FileDescriptorProto{Name: &s.file, Package: &pkg, Syntax: proto.String("proto3")}
		service := &descriptorpb.ServiceDescriptorProto{Name: &name}
		imports := map[string]bool{}
		for _, m := range s.methods {
			d := &descriptorpb.MethodDescriptorProto{Name: proto.String(m.name)}
			if m.name == streamInfer {
				d.ClientStreaming, d.ServerStreaming = proto.Bool(true), proto.Bool(true)
			}
			for _, side := range []struct {
				message proto.Message
				name    **string
			}{{m.request, &d.InputType}, {m.answer, &d.OutputType}} {
				message := side.message.ProtoReflect().Descriptor()
				file, err := addMoved(files, message.ParentFile())
				if err != nil {
					return nil, err
				}
				if !imports[file] {
					imports[file] = true
					f.Dependency = append(f.Dependency, file)
				}
				*side.name = proto.String("." + original(string(message.FullName()), "."))
			}
			service.Method = append(service.Method, d)
		}
		f.Service = []*descriptorpb.ServiceDescriptorProto{service}
		if err := addFile(files, f); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// cutLast cuts a dotted name at its last dot.
func cutLast(name string) (before, after string, found bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

// original returns a name without the parent package to which it was moved.
func original(name, separator string) string { return strings.TrimPrefix(name, movedTo+separator) }

// addMoved adds a file of messages and the files that it imports, under their original
// names, and returns its name.
func addMoved(files *protoregistry.Files, d protoreflect.FileDescriptor) (string, error) {
	name := original(d.Path(), "/")
	if _, err := files.FindFileByPath(name); err == nil {
		return name, nil
	}
	f := protodesc.ToFileDescriptorProto(d)
	f.Name = &name
	f.Package = proto.String(original(f.GetPackage(), "."))
	f.Options = nil
	for i := range d.Imports().Len() {
		imported, err := addMoved(files, d.Imports().Get(i).FileDescriptor)
		if err != nil {
			return "", err
		}
		f.Dependency[i] = imported
	}
	for _, m := range f.MessageType {
		moveBack(m)
	}
	return name, addFile(files, f)
}

// moveBack renames the types that a message's fields refer to.
func moveBack(m *descriptorpb.DescriptorProto) {
	for _, f := range m.Field {
		if f.TypeName != nil {
			f.TypeName = proto.String("." + original(strings.TrimPrefix(f.GetTypeName(), "."), "."))
		}
	}
	for _, nested := range m.NestedType {
		moveBack(nested)
	}
}

// addFile adds a file whose imports have been added.
func addFile(files *protoregistry.Files, f *descriptorpb.FileDescriptorProto) error {
	d, err := protodesc.NewFile(f, files)
	if err != nil {
		return millrace.Errorf(millrace.ErrInternal, "describe %s: %w", f.GetName(), err)
	}
	return files.RegisterFile(d)
}

// withHealth finds the files of gRPC's own services too.
type withHealth struct{ *protoregistry.Files }

func (w withHealth) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if f, err := w.Files.FindFileByPath(path); err == nil {
		return f, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

func (w withHealth) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if d, err := w.Files.FindDescriptorByName(name); err == nil {
		return d, nil
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}

// registerReflection adds gRPC's reflection service, for tools that list the services.
// Its requests are read within the memory of requests, and authenticated.
func (s *services) registerReflection(r *grpc.Server) error {
	files, err := descriptors()
	if err != nil {
		return err
	}
	desc := reflectionpb.ServerReflection_ServiceDesc
	server := reflection.NewServerV1(reflection.ServerOptions{Services: r, DescriptorResolver: withHealth{files}})
	desc.Streams = append([]grpc.StreamDesc(nil), desc.Streams...)
	inner := desc.Streams[0].Handler
	desc.Streams[0].Handler = func(srv any, stream grpc.ServerStream) error {
		if _, err := authenticate(stream.Context(), s.options.Authenticate, "ServerReflectionInfo", ""); err != nil {
			return statusOf(err)
		}
		return inner(srv, &leasedStream{ServerStream: stream, services: s})
	}
	r.RegisterService(&desc, server)
	return nil
}

// leasedStream receives the messages of a stream within the budget, each until the next
// one.
type leasedStream struct {
	grpc.ServerStream
	services *services
}

// RecvMsg receives a message.
func (l *leasedStream) RecvMsg(m any) error {
	lease := l.services.models.Memory.Lease()
	defer lease.Close()
	err := l.services.receiver.receive(l.ServerStream, m.(proto.Message), &lease)
	if err == errNoMessage {
		return io.EOF
	}
	return err
}
