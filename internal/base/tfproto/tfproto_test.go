package tfproto_test

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"millrace/internal/base/tfproto"
)

// theirs registers tensorflow.Feature, tensorflow.BytesList and their file as a program
// with TensorFlow's own generated code would.
func theirs(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	field := func(name string, number int32, label descriptorpb.FieldDescriptorProto_Label, typ descriptorpb.FieldDescriptorProto_Type, ref string) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Label: &label, Type: &typ}
		if ref != "" {
			f.TypeName = &ref
		}
		return f
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name:    proto.String("tensorflow/core/example/feature.proto"),
		Package: proto.String("tensorflow"),
		Syntax:  proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("BytesList"), Field: []*descriptorpb.FieldDescriptorProto{
				field("value", 1, descriptorpb.FieldDescriptorProto_LABEL_REPEATED, descriptorpb.FieldDescriptorProto_TYPE_BYTES, "")}},
			{Name: proto.String("Feature"), Field: []*descriptorpb.FieldDescriptorProto{
				field("bytes_list", 1, descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, ".tensorflow.BytesList")}},
		},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	if err := protoregistry.GlobalFiles.RegisterFile(file); err != nil {
		t.Fatalf("a file of TensorFlow's cannot be registered beside ours: %v", err)
	}
	for i := range file.Messages().Len() {
		mt := dynamicpb.NewMessageType(file.Messages().Get(i))
		if err := protoregistry.GlobalTypes.RegisterMessage(mt); err != nil {
			t.Fatalf("a message of TensorFlow's cannot be registered beside ours: %v", err)
		}
	}
	return file.Messages().ByName("Feature")
}

func TestRegistersBesideTensorFlow(t *testing.T) {
	desc := theirs(t)
	ours := &tfproto.Feature{Kind: &tfproto.Feature_BytesList{BytesList: &tfproto.BytesList{Value: [][]byte{[]byte("water")}}}}
	data, err := proto.Marshal(ours)
	if err != nil {
		t.Fatal(err)
	}
	m := dynamicpb.NewMessage(desc)
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	list := m.Get(desc.Fields().ByName("bytes_list")).Message()
	got := list.Get(list.Descriptor().Fields().ByName("value")).List().Get(0).Bytes()
	if string(got) != "water" {
		t.Errorf("read back %q, want %q", got, "water")
	}
}

func TestEverythingIsBelowMillrace(t *testing.T) {
	n := 0
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if opts, ok := f.Options().(*descriptorpb.FileOptions); ok && opts.GetGoPackage() == "millrace/internal/base/tfproto" {
			n++
			if !f.Package().Parent().IsValid() || f.Package()[:len("millrace.")] != "millrace." || f.Path()[:len("millrace/")] != "millrace/" {
				t.Errorf("%s is in package %s", f.Path(), f.Package())
			}
		}
		return true
	})
	if n < 30 {
		t.Errorf("%d files of ours are registered, want all", n)
	}
}
