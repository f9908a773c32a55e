// Protogen writes package tfproto: Go messages for TensorFlow's protobufs.
//
// TensorFlow's wheel holds no .proto files, but each of its *_pb2.py modules
// carries its serialized descriptor. Protogen reads those, moves everything
// below the proto package millrace (so that a program which registers
// tensorflow.* itself does not panic beside ours), and hands the result to
// protoc-gen-go's own generator.
//
// The messages of TensorFlow Serving come from the wheel of its client, and make a
// separate package, servingproto. Messages that the wheel lacks are in serving.txtpb.
//
// Usage:
//
//	protogen -from WHEEL|DIR -serving WHEEL|DIR -out DIR
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/cmd/protoc-gen-go/internal_gengo"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// The generated packages: TensorFlow's messages, and those of the proto files
// below servingFolder.
const (
	goPackage      = "millrace/internal/base/tfproto"
	servingPackage = "millrace/internal/base/servingproto"
	servingFolder  = "tensorflow_serving/"

	inferencePackage = "millrace/internal/base/inferenceproto"
	inferenceFolder  = "inference/"
)

// roots are the files whose messages we use. The files that they import are
// generated too.
var roots = []string{
	"tensorflow/core/example/example.proto",
	"tensorflow/core/framework/dataset_options.proto",
	"tensorflow/core/framework/graph.proto",
	"tensorflow/core/framework/kernel_def.proto",
	"tensorflow/core/framework/model.proto",
	"tensorflow/core/framework/summary.proto",
	"tensorflow/core/protobuf/config.proto",
	"tensorflow/core/protobuf/fingerprint.proto",
	"tensorflow/core/protobuf/saved_model.proto",
	"tensorflow/core/protobuf/tensor_bundle.proto",
	"tensorflow/core/util/event.proto",

	"tensorflow_serving/apis/get_model_metadata.proto",
	"tensorflow_serving/apis/get_model_status.proto",
	"tensorflow_serving/apis/model_management.proto",
	"tensorflow_serving/apis/prediction_log.proto",
	"tensorflow_serving/config/monitoring_config.proto",
	"tensorflow_serving/config/platform_config.proto",
	"tensorflow_serving/config/ssl_config.proto",
	"tensorflow_serving/servables/tensorflow/saved_model_bundle_source_adapter.proto",
	"tensorflow_serving/servables/tensorflow/session_bundle_config.proto",

	"inference/grpc_predict_v2.proto",
}

// servingText describes messages of TensorFlow Serving's config files, which the
// wheel of its client does not have: a FileDescriptorSet.
//
//go:embed serving.txtpb
var servingText []byte

// inferenceText describes the messages of KServe's Open Inference Protocol: a FileDescriptorSet.
//
//go:embed inference.txtpb
var inferenceText []byte

func main() {
	from := flag.String("from", "", "TensorFlow's wheel, or a folder with its *_pb2.py files somewhere below")
	serving := flag.String("serving", "", "the wheel tensorflow-serving-api, or such a folder")
	out := flag.String("out", "", "folder above those to write the Go files to")
	flag.Parse()
	if *from == "" || *serving == "" || *out == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*out, *from, *serving); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

// run generates the packages from the descriptors at the places in from.
func run(out string, from ...string) error {
	all := map[string]*descriptorpb.FileDescriptorProto{}
	for _, place := range from {
		files, err := readDescriptors(place)
		if err != nil {
			return err
		}
		maps.Copy(all, files)
	}
	for name, text := range map[string][]byte{"serving.txtpb": servingText, "inference.txtpb": inferenceText} {
		var set descriptorpb.FileDescriptorSet
		if err := prototext.Unmarshal(text, &set); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, f := range set.File {
			all[f.GetName()] = f
		}
	}
	files, err := closure(all, roots)
	if err != nil {
		return err
	}
	resp, err := generate(files)
	if err != nil {
		return err
	}
	return write(out, resp)
}

// generate runs protoc-gen-go's generator over the moved descriptors.
func generate(files descriptors) (*pluginpb.CodeGeneratorResponse, error) {
	req := &pluginpb.CodeGeneratorRequest{}
	for _, f := range files {
		req.ProtoFile = append(req.ProtoFile, move(f))
		if !wellKnown(f.GetName()) {
			req.FileToGenerate = append(req.FileToGenerate, movedPath(f.GetName()))
		}
	}
	gen, err := protogen.Options{}.New(req)
	if err != nil {
		return nil, err
	}
	for _, f := range gen.Files {
		if f.Generate {
			f.GeneratedFilenamePrefix = path.Join(path.Base(string(f.GoImportPath)), flatName(f.Desc.Path()))
			internal_gengo.GenerateFile(gen, f)
		}
	}
	resp := gen.Response()
	if resp.Error != nil {
		return nil, fmt.Errorf("protoc-gen-go: %s", resp.GetError())
	}
	return resp, nil
}

// write replaces the generated files in out by those of resp.
func write(out string, resp *pluginpb.CodeGeneratorResponse) error {
	for _, pkg := range []string{goPackage, servingPackage, inferencePackage} {
		old, err := filepath.Glob(filepath.Join(out, path.Base(pkg), "*_gen.go"))
		if err != nil {
			return err
		}
		for _, name := range old {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	for _, f := range resp.File {
		name := strings.TrimSuffix(f.GetName(), ".pb.go") + "_gen.go"
		text := strings.Replace(f.GetContent(),
			"// Code generated by protoc-gen-go. DO NOT EDIT.",
			"// Code generated by gen/protogen; DO NOT EDIT.", 1)
		if err := os.WriteFile(filepath.Join(out, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
