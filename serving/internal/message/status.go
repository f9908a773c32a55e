package message

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"millrace"
	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/serving"
)

// ModelStatus describes the states of versions.
func ModelStatus(all []serving.VersionStatus) *servingproto.GetModelStatusResponse {
	answer := &servingproto.GetModelStatusResponse{}
	for _, v := range all {
		answer.ModelVersionStatus = append(answer.ModelVersionStatus, &servingproto.ModelVersionStatus{
			Version: v.Version,
			State:   servingproto.ModelVersionStatus_State(v.State),
			Status:  Status(v.Err),
		})
	}
	return answer
}

// Status describes an error, or success for nil.
func Status(err error) *servingproto.StatusProto {
	status := &servingproto.StatusProto{ErrorCode: tfproto.Code(serving.CodeOf(err))}
	if err != nil {
		status.ErrorMessage = err.Error()
	}
	return status
}

// Serialized returns the serialized description of a request for its log. It returns
// nil if describe returns nil, or if the message cannot be serialized.
func Serialized(describe func() *servingproto.PredictionLog) func() []byte {
	return func() []byte {
		m := describe()
		if m == nil {
			return nil
		}
		text, err := proto.Marshal(m)
		if err != nil {
			return nil
		}
		return text
	}
}

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
