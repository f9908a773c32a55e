package main

import (
	"fmt"
	"path"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	// The well-known types that TensorFlow's files import.
	_ "google.golang.org/protobuf/types/known/anypb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"
)

// prefix is the proto package that becomes the parent of all others.
const prefix = "millrace"

// wellKnown reports whether a proto file belongs to protobuf itself.
func wellKnown(name string) bool { return strings.HasPrefix(name, "google/protobuf/") }

// closure returns the files named and all they import, imports first.
func closure(all map[string]*descriptorpb.FileDescriptorProto, names []string) (descriptors, error) {
	var out descriptors
	seen := map[string]bool{}
	var visit func(name string) error
	visit = func(name string) error {
		if seen[name] {
			return nil
		}
		seen[name] = true
		f, ok := all[name]
		if wellKnown(name) {
			d, err := protoregistry.GlobalFiles.FindFileByPath(name)
			if err != nil {
				return err
			}
			f, ok = protodesc.ToFileDescriptorProto(d), true
		}
		if !ok {
			return fmt.Errorf("no descriptor of %s", name)
		}
		for _, dep := range f.Dependency {
			if err := visit(dep); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		out = append(out, f)
		return nil
	}
	for _, name := range names {
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// movedPath returns the new path of a proto file.
func movedPath(name string) string {
	if wellKnown(name) {
		return name
	}
	return path.Join(prefix, name)
}

// flatName returns the name of the Go file for a moved proto file, without
// extension. It joins the last two elements of the path, because base names
// alone are not unique.
func flatName(name string) string {
	dir, base := path.Split(strings.TrimSuffix(name, ".proto"))
	parent := path.Base(dir)
	if strings.HasPrefix(name, prefix+"/xla/") {
		parent = "xla"
	}
	return parent + "_" + base
}

// move returns a copy of f below the proto package millrace, as a file of its Go
// package. Files of protobuf itself are not moved. Services are left out, because
// they would be moved as well, and clients ask for the old names.
func move(f *descriptorpb.FileDescriptorProto) *descriptorpb.FileDescriptorProto {
	f = proto.CloneOf(f)
	if wellKnown(f.GetName()) {
		return f
	}
	f.Name = proto.String(movedPath(f.GetName()))
	f.Package = proto.String(prefix + "." + f.GetPackage())
	f.Options = &descriptorpb.FileOptions{GoPackage: proto.String(goPackageOf(f.GetName()))}
	f.Service = nil
	for i, dep := range f.Dependency {
		f.Dependency[i] = movedPath(dep)
	}
	for _, m := range f.MessageType {
		moveMessage(m)
	}
	for _, e := range f.Extension {
		moveField(e)
	}
	return f
}

// goPackageOf returns the import path of the Go package for a moved proto file.
func goPackageOf(name string) string {
	if strings.HasPrefix(name, movedPath(servingFolder)) {
		return servingPackage
	}
	if strings.HasPrefix(name, movedPath(inferenceFolder)) {
		return inferencePackage
	}
	return goPackage
}

// moveMessage renames the types that a message's fields refer to.
func moveMessage(m *descriptorpb.DescriptorProto) {
	for _, f := range m.Field {
		moveField(f)
	}
	for _, f := range m.Extension {
		moveField(f)
	}
	for _, n := range m.NestedType {
		moveMessage(n)
	}
}

// moveField renames the type that a field refers to.
func moveField(f *descriptorpb.FieldDescriptorProto) {
	for _, name := range []*string{f.TypeName, f.Extendee} {
		if name != nil && !strings.HasPrefix(*name, ".google.protobuf.") {
			*name = "." + prefix + *name
		}
	}
}
