package rpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strconv"

	"google.golang.org/grpc"

	"millrace"
	"millrace/graph"
	"millrace/internal/base/inferenceproto"
	"millrace/serving"
	"millrace/serving/internal/openinference"
	"millrace/tfbridge"
)

// inferenceService is the name of the service of KServe's Open Inference Protocol.
const inferenceService = "inference.GRPCInferenceService"

// signatureParameter is the parameter that names a signature: our extension.
const signatureParameter = "signature_name"

// describeInference describes the service.
func (s *services) describeInference() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: inferenceService,
		Streams: []grpc.StreamDesc{
			unary(s, "ServerLive", noModel[*inferenceproto.ServerLiveRequest], s.serverLive),
			unary(s, "ServerReady", noModel[*inferenceproto.ServerReadyRequest], s.serverReady),
			unary(s, "ServerMetadata", noModel[*inferenceproto.ServerMetadataRequest], s.serverMetadata),
			unary(s, "ModelReady", (*inferenceproto.ModelReadyRequest).GetName, s.modelReady),
			unary(s, "ModelMetadata", (*inferenceproto.ModelMetadataRequest).GetName, s.modelMetadata),
			unary(s, "ModelInfer", (*inferenceproto.ModelInferRequest).GetModelName, s.modelInfer),
			s.describeStreamInfer(),
		},
	}
}

// noModel is the model of a request without a model name.
func noModel[Q any](Q) string { return "" }

func (s *services) serverLive(context.Context, *inferenceproto.ServerLiveRequest) (*inferenceproto.ServerLiveResponse, error) {
	return &inferenceproto.ServerLiveResponse{Live: true}, nil
}

func (s *services) serverReady(context.Context, *inferenceproto.ServerReadyRequest) (*inferenceproto.ServerReadyResponse, error) {
	return &inferenceproto.ServerReadyResponse{Ready: s.models.Ready() == nil}, nil
}

func (s *services) serverMetadata(context.Context, *inferenceproto.ServerMetadataRequest) (*inferenceproto.ServerMetadataResponse, error) {
	return &inferenceproto.ServerMetadataResponse{Name: "millrace", Version: "2"}, nil
}

func (s *services) modelReady(ctx context.Context, q *inferenceproto.ModelReadyRequest) (*inferenceproto.ModelReadyResponse, error) {
	v, err := s.models.AcquireContext(ctx, openinference.Spec(q.GetName(), q.GetVersion()))
	if err != nil {
		return &inferenceproto.ModelReadyResponse{}, nil
	}
	v.Release()
	return &inferenceproto.ModelReadyResponse{Ready: true}, nil
}

func (s *services) modelMetadata(ctx context.Context, q *inferenceproto.ModelMetadataRequest) (*inferenceproto.ModelMetadataResponse, error) {
	v, err := s.models.AcquireContext(ctx, openinference.Spec(q.GetName(), q.GetVersion()))
	if err != nil {
		return nil, err
	}
	defer v.Release()
	sig := v.Signatures()[graph.DefaultSignature]
	return &inferenceproto.ModelMetadataResponse{
		Name: v.Name, Versions: openinference.Versions(s.models, v.Name), Platform: openinference.Platform,
		Inputs: tensorMetadata(sig.Inputs), Outputs: tensorMetadata(sig.Outputs),
	}, nil
}

// tensorMetadata describes the inputs or outputs of a signature.
func tensorMetadata(infos map[string]tfbridge.TensorInfo) []*inferenceproto.ModelMetadataResponse_TensorMetadata {
	var all []*inferenceproto.ModelMetadataResponse_TensorMetadata
	for _, t := range openinference.Describe(infos) {
		all = append(all, &inferenceproto.ModelMetadataResponse_TensorMetadata{Name: t.Name, Datatype: t.Datatype, Shape: t.Shape})
	}
	return all
}

func (s *services) modelInfer(ctx context.Context, q *inferenceproto.ModelInferRequest) (*inferenceproto.ModelInferResponse, error) {
	v, err := s.models.AcquireContext(ctx, openinference.Spec(q.GetModelName(), q.GetModelVersion()))
	if err != nil {
		return nil, err
	}
	defer v.Release()
	key := q.GetParameters()[signatureParameter].GetStringParam()
	if err := v.Admit(key); err != nil {
		return nil, err
	}
	inputs, err := s.inferInputs(q)
	defer closeAll(inputs)
	if err != nil {
		return nil, err
	}
	var wanted []string
	for _, o := range q.GetOutputs() {
		wanted = append(wanted, o.GetName())
	}
	values := make(map[string]any, len(inputs))
	for name, t := range inputs {
		values[name] = t
	}
	outputs, err := v.Predict(ctx, key, values, wanted...)
	if err != nil {
		return nil, err
	}
	defer closeAll(outputs)
	return inferAnswer(q, v, outputs)
}

// closeAll closes tensors.
func closeAll(tensors map[string]*tfbridge.Tensor) {
	for _, t := range tensors {
		t.Close()
	}
}

// inferInputs returns the inputs of a request. The caller closes them, even after an
// error.
func (s *services) inferInputs(q *inferenceproto.ModelInferRequest) (map[string]*tfbridge.Tensor, error) {
	tensors := map[string]*tfbridge.Tensor{}
	raw := q.GetRawInputContents()
	if raw != nil && len(raw) != len(q.GetInputs()) {
		return tensors, invalid("the request has %d inputs and %d raw_input_contents", len(q.GetInputs()), len(raw))
	}
	for i, in := range q.GetInputs() {
		if tensors[in.GetName()] != nil {
			return tensors, invalid("the request has input %s twice", millrace.Quote(in.GetName()))
		}
		dt, err := openinference.DataType(in.GetDatatype())
		var content []byte
		switch {
		case err != nil:
		case raw == nil:
			content, err = contents(dt, in.GetContents())
		case in.GetContents() != nil:
			err = invalid("there are contents beside raw_input_contents")
		default:
			content = raw[i]
		}
		var t *tfbridge.Tensor
		if err == nil && int64(len(content)) > s.options.MaxTensorBytes {
			err = invalid("the tensor takes %d bytes, at most %d are allowed", len(content), s.options.MaxTensorBytes)
		}
		if err == nil {
			t, err = openinference.Tensor(dt, in.GetShape(), content)
		}
		if err != nil {
			return tensors, invalid("input %s: %w", millrace.Quote(in.GetName()), err)
		}
		tensors[in.GetName()] = t
	}
	return tensors, nil
}

// contents returns the typed contents of a tensor in binary form.
func contents(dt tfbridge.DataType, c *inferenceproto.InferTensorContents) ([]byte, error) {
	order := binary.LittleEndian
	var b []byte
	switch dt {
	case tfbridge.Bool:
		for _, v := range c.GetBoolContents() {
			if v {
				b = append(b, 1)
			} else {
				b = append(b, 0)
			}
		}
	case tfbridge.Int8, tfbridge.Int16, tfbridge.Int32:
		for _, v := range c.GetIntContents() {
			if lost := 32 - 8*dt.Size(); v<<lost>>lost != v {
				return nil, invalid("%d is not a value of type %v", v, dt)
			}
			b = appendWidth(b, uint32(v), dt.Size())
		}
	case tfbridge.Uint8, tfbridge.Uint16, tfbridge.Uint32:
		for _, v := range c.GetUintContents() {
			if lost := 32 - 8*dt.Size(); v<<lost>>lost != v {
				return nil, invalid("%d is not a value of type %v", v, dt)
			}
			b = appendWidth(b, v, dt.Size())
		}
	case tfbridge.Int64:
		for _, v := range c.GetInt64Contents() {
			b = order.AppendUint64(b, uint64(v))
		}
	case tfbridge.Uint64:
		for _, v := range c.GetUint64Contents() {
			b = order.AppendUint64(b, v)
		}
	case tfbridge.Float:
		for _, v := range c.GetFp32Contents() {
			b = order.AppendUint32(b, math.Float32bits(v))
		}
	case tfbridge.Double:
		for _, v := range c.GetFp64Contents() {
			b = order.AppendUint64(b, math.Float64bits(v))
		}
	case tfbridge.String:
		for _, v := range c.GetBytesContents() {
			b = append(order.AppendUint32(b, uint32(len(v))), v...)
		}
	default:
		return nil, invalid("elements of type %v are only taken as raw_input_contents", dt)
	}
	return b, nil
}

// appendWidth appends the low bytes of a number.
func appendWidth(b []byte, v uint32, width int) []byte {
	return append(b, binary.LittleEndian.AppendUint32(nil, v)[:width]...)
}

// inferAnswer returns the answer, with its tensors as raw_output_contents.
func inferAnswer(q *inferenceproto.ModelInferRequest, v *serving.Version, outputs map[string]*tfbridge.Tensor) (*inferenceproto.ModelInferResponse, error) {
	a := &inferenceproto.ModelInferResponse{ModelName: v.Name, ModelVersion: strconv.FormatInt(v.Number, 10), Id: q.GetId()}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		t := outputs[name]
		datatype := openinference.Name(t.DataType())
		if datatype == "" {
			return nil, invalid("output %s: the protocol has no datatype for %v", millrace.Quote(name), t.DataType())
		}
		raw, err := openinference.AppendBinary(nil, t)
		if err != nil {
			return nil, err
		}
		a.Outputs = append(a.Outputs, &inferenceproto.ModelInferResponse_InferOutputTensor{Name: name, Datatype: datatype, Shape: t.Shape()})
		a.RawOutputContents = append(a.RawOutputContents, bytes.Clone(raw))
	}
	return a, nil
}
