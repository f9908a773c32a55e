package message

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"millrace"
	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
)

// Signatures returns the signatures in a serialized MetaGraphDef message.
func Signatures(metaGraph []byte) (*servingproto.SignatureDefMap, error) {
	var meta tfproto.MetaGraphDef
	if err := proto.Unmarshal(metaGraph, &meta); err != nil {
		return nil, millrace.Errorf(millrace.ErrInternal, "the model's description: %w", err)
	}
	return &servingproto.SignatureDefMap{SignatureDef: meta.SignatureDef}, nil
}

// VersionNumber returns a version as a ModelSpec holds it.
func VersionNumber(n int64) *servingproto.ModelSpec_Version {
	return &servingproto.ModelSpec_Version{Version: wrapperspb.Int64(n)}
}
