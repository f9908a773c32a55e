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

// authenticate identifies the client of a request, and adds the identity to the
// context. If who is nil every client is accepted.
func authenticate(ctx context.Context, who auth.Authenticator, method, model string) (context.Context, error) {
	if who == nil {
		return ctx, nil
	}
	r := &auth.Request{Method: method, Model: model}
	if values := metadata.ValueFromIncomingContext(ctx, "authorization"); len(values) == 1 {
		r.Token = auth.Bearer(values[0])
	}
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(credentials.TLSInfo); ok && len(info.State.VerifiedChains) > 0 {
			r.Certificates = info.State.VerifiedChains[0]
		}
	}
	identity, err := who(ctx, r)
	if err != nil {
		return ctx, err
	}
	return auth.WithIdentity(ctx, identity), nil
}

// intercepted makes a call within an interceptor, which may be nil.
func intercepted[Q, A any](ctx context.Context, by grpc.UnaryServerInterceptor, q *Q, call func(context.Context, *Q) (*A, error)) (*A, error) {
	if by == nil {
		return call(ctx, q)
	}
	method, _ := grpc.Method(ctx)
	a, err := by(ctx, q, &grpc.UnaryServerInfo{FullMethod: method}, func(ctx context.Context, q any) (any, error) {
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
