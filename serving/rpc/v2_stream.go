package rpc

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/inferenceproto"
	"millrace/serving"
	"millrace/serving/internal/openinference"
	"millrace/serving/tracing"
)

/*
ModelStreamInfer is Triton's streaming extension of the Open Inference Protocol: a client sends
requests over a stream, and each has one or more answers. Here a request to the signature of a
sequence has one answer for each step, as soon as the step is done; any other request has one. The
requests of a stream are answered one after the other. The last answer to a request has the
parameter triton_final_response. A request that fails has one answer with an error_message, and
the stream continues.
*/

// streamInfer is the name of the method, and the parameters of its requests and answers.
const (
	streamInfer    = "ModelStreamInfer"
	stepsParameter = "max_steps" // our extension
	finalParameter = "triton_final_response"
)

// describeStreamInfer describes the method.
func (s *services) describeStreamInfer() grpc.StreamDesc {
	return grpc.StreamDesc{StreamName: streamInfer, ServerStreams: true, ClientStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
		ctx, err := authenticate(stream.Context(), s.options.Authenticate, streamInfer, "")
		if err != nil {
			return statusOf(err)
		}
		for {
			if err := s.streamOne(ctx, stream); err != nil {
				if errors.Is(err, errNoMessage) {
					return nil // the client has closed its side
				}
				return statusOf(err)
			}
		}
	}}
}

// streamOne answers the next request of a stream. Its error ends the stream.
func (s *services) streamOne(ctx context.Context, stream grpc.ServerStream) error {
	lease := s.models.Memory.Lease()
	defer lease.Close()
	q := &inferenceproto.ModelInferRequest{}
	if err := s.receiver.receive(stream, q, &lease); err != nil {
		return err
	}
	began := time.Now()
	if s.options.MaxTime > 0 {
		limited, cancel := context.WithTimeout(ctx, s.options.MaxTime)
		defer cancel()
		ctx = limited
	}
	ctx, span := tracing.Begin(ctx, s.options.Tracer, incoming(ctx), streamInfer)
	var broken error // the stream cannot continue
	send := func(a *inferenceproto.ModelStreamInferResponse) error {
		size := 2 * int64(proto.Size(a)) // the message, and its bytes on the way
		if err := lease.Grow(size); err != nil {
			return err
		}
		defer lease.Shrink(size)
		broken = stream.SendMsg(a)
		return broken
	}
	last, err := protected(ctx, s, streamInfer, func() (*inferenceproto.ModelStreamInferResponse, error) {
		ctx, err := authenticate(ctx, s.options.Authenticate, streamInfer, q.GetModelName())
		if err != nil {
			return nil, err
		}
		if err := s.threads.Acquire(ctx); err != nil {
			return nil, err
		}
		defer s.threads.Release()
		if err := lease.Grow(requestBytes(q, s.options.MaxTensorBytes)); err != nil {
			return nil, err
		}
		return intercepted(prioritized(ctx), s.options.Interceptor, q, func(ctx context.Context, q *inferenceproto.ModelInferRequest) (*inferenceproto.ModelStreamInferResponse, error) {
			return s.modelStreamInfer(ctx, q, send)
		})
	})
	code := codeOf(err)
	tracing.End(span, q.GetModelName(), code, err)
	if s.options.OnRequest != nil {
		s.options.OnRequest(Request{Model: q.GetModelName(), Method: streamInfer, Code: code, Took: time.Since(began), Version: versionOf(last)})
	}
	if err == nil || broken != nil {
		return broken
	}
	return stream.SendMsg(&inferenceproto.ModelStreamInferResponse{ErrorMessage: status.Convert(err).Message(), InferResponse: &inferenceproto.ModelInferResponse{Id: q.GetId()}})
}

// modelStreamInfer runs the steps of a request, and sends their answers. It returns the last one.
func (s *services) modelStreamInfer(ctx context.Context, q *inferenceproto.ModelInferRequest, send func(*inferenceproto.ModelStreamInferResponse) error) (*inferenceproto.ModelStreamInferResponse, error) {
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
	values := make(map[string]any, len(inputs))
	for name, t := range inputs {
		values[name] = t
	}
	o := &serving.SequenceOptions{MaxSteps: int(q.GetParameters()[stepsParameter].GetInt64Param())}
	for _, output := range q.GetOutputs() {
		o.Outputs = append(o.Outputs, output.GetName())
	}
	sequence, err := serving.NewSequence(v, key, values, o)
	if err != nil {
		return nil, err
	}
	defer sequence.Close()
	var last *inferenceproto.ModelStreamInferResponse
	for {
		outputs, err := sequence.Next(ctx)
		if outputs == nil || err != nil {
			return last, err
		}
		a, err := inferAnswer(q, v, outputs)
		if err != nil {
			return nil, err
		}
		a.Parameters = map[string]*inferenceproto.InferParameter{finalParameter: {ParameterChoice: &inferenceproto.InferParameter_BoolParam{BoolParam: sequence.Last()}}}
		last = &inferenceproto.ModelStreamInferResponse{InferResponse: a}
		if err := send(last); err != nil {
			return nil, err
		}
	}
}
