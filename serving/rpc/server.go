package rpc

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"millrace/serving"
	"millrace/serving/internal/inference"
	"millrace/serving/tracing"
	"millrace/tfbridge"
)

// Options are the options of a gRPC server. Nil and the zero value mean the
// defaults.
type Options struct {
	// TLS encrypts connections, and asks clients for certificates if it says so.
	// Nil: connections are not encrypted.
	TLS *tls.Config
	// MaxRecvMsgBytes is the longest request. 0: 256 MiB.
	MaxRecvMsgBytes int
	// MaxTensorBytes is how much memory a tensor of a request may take. A short
	// message can ask for a large one. 0: 1 GiB.
	MaxTensorBytes int64
	// SerializeAsTensorContent answers with numbers in the field tensor_content,
	// which is faster, and which not every client reads.
	SerializeAsTensorContent bool
	// MaxTime is the longest time for a request, whatever deadline its client gives it,
	// or if it gives none. 0: 5 min. Negative: as long as the client waits.
	MaxTime time.Duration
	// OnRequest is told of each request when it is answered. Nil: nobody is.
	OnRequest func(Request)
	// Tracer makes a span of each request. Nil: none.
	Tracer trace.TracerProvider
	// Logger is told of failures that the client did not make. Nil: slog.Default.
	Logger *slog.Logger
}

// Request describes a request that was answered.
type Request struct {
	Model  string
	Method string // "Predict", "GetModelStatus" and so on
	Code   tfbridge.Code
	Took   time.Duration
}

// Server is a gRPC server whose health service tells of its end.
type Server struct {
	*grpc.Server
	health *health.Server
}

// services are what carries out requests.
type services struct {
	models  *serving.Server
	options Options
}

// NewServer returns a server of models. Its Serve answers requests; GracefulStop
// lets those in flight end.
func NewServer(models *serving.Server, o *Options) *Server {
	s := &services{models: models}
	if o != nil {
		s.options = *o
	}
	s.options.MaxRecvMsgBytes = cmp.Or(s.options.MaxRecvMsgBytes, 256<<20)
	s.options.MaxTensorBytes = cmp.Or(s.options.MaxTensorBytes, 1<<30)
	s.options.MaxTime = cmp.Or(s.options.MaxTime, 5*time.Minute)
	s.options.Logger = cmp.Or(s.options.Logger, slog.Default())
	settings := []grpc.ServerOption{grpc.MaxRecvMsgSize(s.options.MaxRecvMsgBytes)}
	if s.options.TLS != nil {
		settings = append(settings, grpc.Creds(credentials.NewTLS(s.options.TLS)))
	}
	server := &Server{Server: grpc.NewServer(settings...), health: health.NewServer()}
	for _, desc := range s.descriptions() {
		server.RegisterService(desc, nil)
	}
	grpc_health_v1.RegisterHealthServer(server, server.health)
	models.OnReadiness(func(ready bool) {
		state := grpc_health_v1.HealthCheckResponse_NOT_SERVING
		if ready {
			state = grpc_health_v1.HealthCheckResponse_SERVING
		}
		server.health.SetServingStatus("", state)
	})
	return server
}

// GracefulStop tells health checks that the server ends, refuses new connections,
// and waits until the requests in flight are answered.
func (s *Server) GracefulStop() {
	s.health.Shutdown()
	s.Server.GracefulStop()
}

// inference returns the options of carrying out requests.
func (s *services) inference() inference.Options {
	return inference.Options{MaxTensorBytes: s.options.MaxTensorBytes, TensorContent: s.options.SerializeAsTensorContent}
}

// unary describes a method. The services are declared by hand and not generated:
// see internal/servingproto.
func unary[Q, A any](s *services, service, name string, model func(*Q) string, call func(context.Context, *Q) (*A, error)) grpc.MethodDesc {
	answer := func(ctx context.Context, q any) (any, error) {
		began := time.Now()
		if s.options.MaxTime > 0 {
			limited, cancel := context.WithTimeout(ctx, s.options.MaxTime)
			defer cancel()
			ctx = limited
		}
		ctx, span := tracing.Begin(ctx, s.options.Tracer, incoming(ctx), name)
		a, err := protected(ctx, s, name, func() (*A, error) { return call(ctx, q.(*Q)) })
		code := serving.CodeOf(err)
		tracing.End(span, model(q.(*Q)), code, err)
		if s.options.OnRequest != nil {
			s.options.OnRequest(Request{Model: model(q.(*Q)), Method: name, Code: code, Took: time.Since(began)})
		}
		if err != nil {
			return nil, status.Error(codes.Code(code), err.Error())
		}
		return a, nil
	}
	handler := func(_ any, ctx context.Context, decode func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		q := new(Q)
		if err := decode(q); err != nil {
			return nil, err
		}
		if interceptor == nil {
			return answer(ctx, q)
		}
		return interceptor(ctx, q, &grpc.UnaryServerInfo{FullMethod: "/" + service + "/" + name}, answer)
	}
	return grpc.MethodDesc{MethodName: name, Handler: handler}
}

// protected makes a call whose panic becomes an error.
func protected[A any](ctx context.Context, s *services, name string, call func() (*A, error)) (a *A, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Logger.ErrorContext(ctx, "panic", slog.String("method", name), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = status.Error(codes.Internal, "the request made the server panic")
		}
	}()
	return call()
}

// incoming returns the metadata of a request, which may name a trace.
func incoming(ctx context.Context) propagation.MapCarrier {
	carrier := propagation.MapCarrier{}
	for _, name := range (propagation.TraceContext{}).Fields() {
		if values := metadata.ValueFromIncomingContext(ctx, name); len(values) > 0 {
			carrier[name] = values[0]
		}
	}
	return carrier
}
