package message

import (
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
