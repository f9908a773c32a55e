//go:build cgo

package tfbridge

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"millrace"
	"millrace/sigdef"
)

// SignatureFromProto returns the signature that a SignatureDef message
// describes, for programs that read a model's description themselves. It does
// not matter which Go package the message was generated into.
func SignatureFromProto(def proto.Message) (Signature, error) {
	if err := checkMessage(def, "SignatureDef"); err != nil {
		return Signature{}, err
	}
	return signatureDefFromProto(def), nil
}

// TensorInfoFromProto does the same for a TensorInfo message.
func TensorInfoFromProto(info proto.Message) (TensorInfo, error) {
	if err := checkMessage(info, "TensorInfo"); err != nil {
		return TensorInfo{}, err
	}
	return tensorInfoFromProto(info), nil
}

// signatureDefFromProto converts a SignatureDef message.
func signatureDefFromProto(def proto.Message) Signature {
	s, err := sigdef.Parse("", wireBytes(def))
	if err != nil {
		return Signature{}
	}
	return signatureOf(s)
}

// tensorInfoFromProto converts a TensorInfo message.
func tensorInfoFromProto(info proto.Message) TensorInfo {
	t, _ := sigdef.ParseTensor(wireBytes(info))
	return infoOf(t)
}

// wireBytes returns the serialized message.
func wireBytes(m proto.Message) []byte {
	raw, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
	if err != nil {
		return nil // the message has text that is not UTF-8, which files never contain
	}
	return raw
}

// checkMessage fails unless m is a message of a type, whatever its package.
func checkMessage(m proto.Message, want protoreflect.Name) error {
	if m == nil {
		return millrace.Errorf(millrace.ErrModel, "nil is no %s message", want)
	}
	if got := m.ProtoReflect().Descriptor().FullName(); got.Name() != want {
		return millrace.Errorf(millrace.ErrModel, "%s is no %s message", got, want)
	}
	return nil
}
