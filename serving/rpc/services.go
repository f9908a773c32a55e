package rpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"millrace"
	"millrace/internal/base/servingproto"
	"millrace/serving"
	"millrace/serving/internal/inference"
	"millrace/serving/internal/message"
)

// descriptions describes the services.
func (s *services) descriptions() []*grpc.ServiceDesc {
	return []*grpc.ServiceDesc{s.describeInference(), {
		ServiceName: predictionService,
		Streams: []grpc.StreamDesc{
			unary(s, "Predict", modelOf[*servingproto.PredictRequest], s.predict),
			unary(s, "Classify", modelOf[*servingproto.ClassificationRequest], s.classify),
			unary(s, "Regress", modelOf[*servingproto.RegressionRequest], s.regress),
			unary(s, "MultiInference", modelOfTasks, s.multiInference),
			unary(s, "GetModelMetadata", modelOf[*servingproto.GetModelMetadataRequest], s.metadata),
		},
	}, {
		ServiceName: modelService,
		Streams: []grpc.StreamDesc{
			unary(s, "GetModelStatus", modelOf[*servingproto.GetModelStatusRequest], s.status),
			unary(s, "HandleReloadConfigRequest", func(*servingproto.ReloadConfigRequest) string { return "" }, s.reload),
		},
	}}
}

// modelOf returns the name of the model that a request is for.
func modelOf[Q interface {
	GetModelSpec() *servingproto.ModelSpec
}](q Q) string {
	return q.GetModelSpec().GetName()
}

// modelOfTasks returns the name of the model that tasks are for.
func modelOfTasks(q *servingproto.MultiInferenceRequest) string {
	if len(q.GetTasks()) == 0 {
		return ""
	}
	return q.GetTasks()[0].GetModelSpec().GetName()
}

// specOf returns the version that a message names.
func specOf(m *servingproto.ModelSpec) serving.ModelSpec {
	spec := serving.ModelSpec{Name: m.GetName(), Label: m.GetVersionLabel()}
	if v := m.GetVersion(); v != nil {
		spec.Version, spec.HasVersion = v.GetValue(), true
	}
	return spec
}

// complete adds the model and the version to the message of an answer.
func complete(spec *servingproto.ModelSpec, v *serving.Version) {
	spec.Name, spec.VersionChoice = v.Name, message.VersionNumber(v.Number)
}

func (s *services) predict(ctx context.Context, q *servingproto.PredictRequest) (*servingproto.PredictResponse, error) {
	v, err := s.models.AcquireContext(ctx, specOf(q.GetModelSpec()))
	if err != nil {
		return nil, err
	}
	defer v.Release()
	if err := v.Admit(q.GetModelSpec().GetSignatureName()); err != nil {
		return nil, err
	}
	a, err := inference.Predict(ctx, v, q, s.inference())
	if err == nil {
		complete(a.ModelSpec, v)
		v.LogRequest(a.ModelSpec.SignatureName, message.Serialized(func() *servingproto.PredictionLog {
			return &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_PredictLog{PredictLog: &servingproto.PredictLog{Request: q, Response: a}}}
		}))
	}
	return a, err
}

func (s *services) classify(ctx context.Context, q *servingproto.ClassificationRequest) (*servingproto.ClassificationResponse, error) {
	v, err := s.models.AcquireContext(ctx, specOf(q.GetModelSpec()))
	if err != nil {
		return nil, err
	}
	defer v.Release()
	a, err := inference.Classify(ctx, v, q)
	if err == nil {
		complete(a.ModelSpec, v)
		v.LogRequest(a.ModelSpec.SignatureName, message.Serialized(func() *servingproto.PredictionLog {
			return &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_ClassifyLog{ClassifyLog: &servingproto.ClassifyLog{Request: q, Response: a}}}
		}))
	}
	return a, err
}

func (s *services) regress(ctx context.Context, q *servingproto.RegressionRequest) (*servingproto.RegressionResponse, error) {
	v, err := s.models.AcquireContext(ctx, specOf(q.GetModelSpec()))
	if err != nil {
		return nil, err
	}
	defer v.Release()
	a, err := inference.Regress(ctx, v, q)
	if err == nil {
		complete(a.ModelSpec, v)
		v.LogRequest(a.ModelSpec.SignatureName, message.Serialized(func() *servingproto.PredictionLog {
			return &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_RegressLog{RegressLog: &servingproto.RegressLog{Request: q, Response: a}}}
		}))
	}
	return a, err
}

func (s *services) multiInference(ctx context.Context, q *servingproto.MultiInferenceRequest) (*servingproto.MultiInferenceResponse, error) {
	if len(q.GetTasks()) == 0 {
		return nil, invalid("the request has no tasks")
	}
	v, err := s.models.AcquireContext(ctx, specOf(q.GetTasks()[0].GetModelSpec()))
	if err != nil {
		return nil, err
	}
	defer v.Release()
	a, err := inference.MultiInference(ctx, v, q)
	for _, result := range a.GetResults() {
		complete(result.ModelSpec, v)
	}
	if err == nil {
		v.LogRequest("", message.Serialized(func() *servingproto.PredictionLog {
			return &servingproto.PredictionLog{LogType: &servingproto.PredictionLog_MultiInferenceLog{MultiInferenceLog: &servingproto.MultiInferenceLog{Request: q, Response: a}}}
		}))
	}
	return a, err
}

// signatureDef is the only existing field of metadata.
const signatureDef = "signature_def"

func (s *services) metadata(ctx context.Context, q *servingproto.GetModelMetadataRequest) (*servingproto.GetModelMetadataResponse, error) {
	if len(q.GetMetadataField()) == 0 {
		return nil, invalid("GetModelMetadataRequest must specify at least one metadata_field")
	}
	for _, field := range q.GetMetadataField() {
		if field != signatureDef {
			return nil, invalid("Metadata field %s is not supported", millrace.Quote(field))
		}
	}
	v, err := s.models.AcquireContext(ctx, specOf(q.GetModelSpec()))
	if err != nil {
		return nil, err
	}
	defer v.Release()
	signatures, err := message.Signatures(v.MetaGraph())
	if err != nil {
		return nil, err
	}
	raw, err := proto.Marshal(signatures)
	if err != nil {
		return nil, err
	}
	a := &servingproto.GetModelMetadataResponse{
		ModelSpec: &servingproto.ModelSpec{},
		// Clients look for the message under TensorFlow Serving's name.
		Metadata: map[string]*anypb.Any{signatureDef: {TypeUrl: "type.googleapis.com/tensorflow.serving.SignatureDefMap", Value: raw}},
	}
	complete(a.ModelSpec, v)
	return a, nil
}

func (s *services) status(_ context.Context, q *servingproto.GetModelStatusRequest) (*servingproto.GetModelStatusResponse, error) {
	if q.GetModelSpec() == nil {
		return nil, invalid("Missing ModelSpec")
	}
	all, err := s.models.Status(specOf(q.GetModelSpec()))
	if err != nil {
		return nil, err
	}
	return message.ModelStatus(all), nil
}

func (s *services) reload(ctx context.Context, q *servingproto.ReloadConfigRequest) (*servingproto.ReloadConfigResponse, error) {
	configs, err := message.ModelConfigs(q.GetConfig())
	if err == nil {
		err = serving.CheckLogs(s.models, configs)
	}
	if err == nil {
		err = s.models.ReplaceConfig(ctx, configs)
	}
	return &servingproto.ReloadConfigResponse{Status: message.Status(err)}, err
}

// invalid returns an error about a request.
func invalid(format string, args ...any) error {
	return millrace.Errorf(millrace.ErrModel, format, args...)
}
