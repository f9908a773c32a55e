package rpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"millrace/serving/auth"
)

// authenticate asks who the client of a request is, and notes it in the context.
func (s *services) authenticate(ctx *context.Context, method, model string) error {
	if s.options.Authenticate == nil {
		return nil
	}
	r := &auth.Request{Method: method, Model: model}
	if values := metadata.ValueFromIncomingContext(*ctx, "authorization"); len(values) == 1 {
		r.Token = auth.Bearer(values[0])
	}
	if p, ok := peer.FromContext(*ctx); ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.VerifiedChains) > 0 {
			r.Certificates = info.State.VerifiedChains[0]
		}
	}
	identity, err := s.options.Authenticate(*ctx, r)
	if err == nil {
		*ctx = auth.WithIdentity(*ctx, identity)
	}
	return err
}

// intercepted makes a call within the interceptor of the options.
func intercepted[Q, A any](ctx context.Context, s *services, stream grpc.ServerStream, q *Q, call func(context.Context, *Q) (*A, error)) (*A, error) {
	if s.options.Interceptor == nil {
		return call(ctx, q)
	}
	method, _ := grpc.MethodFromServerStream(stream)
	a, err := s.options.Interceptor(ctx, q, &grpc.UnaryServerInfo{Server: s.models, FullMethod: method}, func(ctx context.Context, q any) (any, error) {
		return call(ctx, q.(*Q))
	})
	if err != nil {
		return nil, err
	}
	answer, ok := a.(*A)
	if !ok {
		return nil, status.Errorf(codes.Internal, "the interceptor returned a %T", a)
	}
	return answer, nil
}
