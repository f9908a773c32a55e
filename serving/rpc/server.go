package rpc

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"runtime/debug"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip" // clients may compress messages, and get compressed answers
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"millrace/internal/base/inferenceproto"
	"millrace/internal/base/servingproto"
	"millrace/serving"
	"millrace/serving/auth"
	"millrace/serving/batching"
	"millrace/serving/internal/inference"
	"millrace/serving/internal/slots"
	"millrace/serving/tracing"
	"millrace/tfbridge"
)

// Options are the options of a gRPC server. Nil and the zero value mean the
// defaults.
type Options struct {
	// TLS encrypts connections, and requests client certificates if it is configured
	// so. Nil: connections are not encrypted.
	TLS *tls.Config
	// MaxRecvMsgBytes is the longest request. 0: 256 MiB.
	MaxRecvMsgBytes int
	// MaxTensorBytes is the largest memory of a tensor of a request. A short message
	// can claim a large tensor. 0: 1 GiB.
	MaxTensorBytes int64
	// SerializeAsTensorContent answers with numbers in the field tensor_content, which
	// is faster, but not every client reads it.
	SerializeAsTensorContent bool
	// MaxThreads is how many requests are answered at a time; further ones wait. 0: any
	// number.
	MaxThreads int
	// NoHealth leaves out gRPC's health service.
	NoHealth bool
	// MaxTime is the longest time for a request, whether or not its client gives a
	// deadline. 0: 5 min. Negative: as long as the client waits.
	MaxTime time.Duration
	// OnRequest is called after each answer. It may be nil.
	OnRequest func(Request)
	// Authenticate is called before the message of a request is read, and again when
	// the message has given the model; see [auth.Authenticator]. Nil: every request is
	// allowed.
	Authenticate auth.Authenticator
	// Interceptor is called around each method of a model, with the request's message.
	// To a server these methods are streams, so its stream interceptors run for them
	// and its unary ones do not; a unary one is given here. It may be nil.
	Interceptor grpc.UnaryServerInterceptor
	// ServerOptions are further options of [NewServer]'s server: credentials, stream interceptors,
	// keepalive, stats handlers. They come last.
	ServerOptions []grpc.ServerOption
	// Tracer makes a span of each request. Nil: none.
	Tracer trace.TracerProvider
	// Logger receives messages about failures that the client did not cause. Nil:
	// slog.Default.
	Logger *slog.Logger
}

// Request describes a request that was answered.
type Request struct {
	Model  string
	Method string // "Predict", "GetModelStatus" and so on
	Code   tfbridge.Code
	Took   time.Duration

	Version int64 // 0 if none was found, or the request failed
}

// Server is a gRPC server whose health service reports its end.
type Server struct {
	*grpc.Server
	health *health.Server
}

// services carry out requests.
type services struct {
	models  *serving.Server
	options Options
	threads slots.Slots

	receiver  receiver
	handshake time.Duration              // until a connection has begun HTTP/2
	keepalive keepalive.ServerParameters // when a connection is pinged
}

// A connection that has not begun HTTP/2 after handshakeTime is closed. One that has
// sent no whole frame for KeepaliveTime is sent a ping, and closed if it does not
// answer within KeepaliveTimeout. gRPC's own times are two minutes and two hours, and
// each connection takes a descriptor.
const handshakeTime, KeepaliveTime, KeepaliveTimeout = 20 * time.Second, time.Minute, 20 * time.Second

// maxStreams is how many requests a connection may have at a time. The client keeps
// further ones.
const maxStreams = 1000

// newServices returns services, with the defaults of options filled in.
func newServices(models *serving.Server, o *Options) *services {
	s := &services{models: models, handshake: handshakeTime, keepalive: keepalive.ServerParameters{Time: KeepaliveTime, Timeout: KeepaliveTimeout}}
	if o != nil {
		s.options = *o
	}
	s.options.MaxRecvMsgBytes = cmp.Or(s.options.MaxRecvMsgBytes, 256<<20)
	s.receiver.most, s.receiver.wait = int64(s.options.MaxRecvMsgBytes), messageTime
	s.options.MaxTensorBytes = cmp.Or(s.options.MaxTensorBytes, 1<<30)
	s.options.MaxTime = cmp.Or(s.options.MaxTime, 5*time.Minute)
	s.options.Logger = cmp.Or(s.options.Logger, slog.Default())
	s.threads = slots.New(s.options.MaxThreads)
	return s
}

// NewServer returns a server of models. Its Serve answers requests; GracefulStop
// lets those in flight end.
func NewServer(models *serving.Server, o *Options) *Server { return newServices(models, o).newServer() }

// newServer returns a server of the services.
func (s *services) newServer() *Server {
	server := &Server{Server: grpc.NewServer(s.serverOptions()...), health: health.NewServer()}
	s.register(server)
	if err := s.registerReflection(server.Server); err != nil { // the descriptors are part of the program
		s.options.Logger.Error("reflection", slog.String("error", err.Error()))
	}
	if !s.options.NoHealth {
		grpc_health_v1.RegisterHealthServer(server, server.health)
		s.models.OnHealth((&reporter{to: server.health}).report)
	}
	return server
}

// ServerOptions returns the options of a gRPC server that [Register] needs: limits of
// messages and streams, and of the time for messages to arrive. Without them a client
// that sends its message slowly is not disconnected. Later options in grpc.NewServer
// take precedence.
func ServerOptions(o *Options) []grpc.ServerOption { return newServices(nil, o).serverOptions() }

// serverOptions returns the options of a server of the services.
func (s *services) serverOptions() []grpc.ServerOption {
	settings := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(s.options.MaxRecvMsgBytes), grpc.InTapHandle(interruptible), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(maxHeaders),
		grpc.ConnectionTimeout(s.handshake), grpc.KeepaliveParams(s.keepalive),
	}
	if s.options.TLS != nil {
		settings = append(settings, grpc.Creds(credentials.NewTLS(s.options.TLS)))
	}
	return append(settings, s.options.ServerOptions...)
}

// Register adds TensorFlow Serving's services, and the one of KServe's Open Inference
// Protocol, to the caller's gRPC server, which was made with [ServerOptions] and the
// caller's own options. It does not add a health service. Call it before the server's
// Serve.
//
//	server := grpc.NewServer(append(rpc.ServerOptions(nil), grpc.ChainStreamInterceptor(logging))...)
//	rpc.Register(server, models, &rpc.Options{Interceptor: quota})
func Register(r grpc.ServiceRegistrar, models *serving.Server, o *Options) {
	newServices(models, o).register(r)
}

// register adds the services to a server.
func (s *services) register(r grpc.ServiceRegistrar) {
	for _, desc := range s.descriptions() {
		r.RegisterService(desc, nil)
	}
}

// GracefulStop reports to health checks that the server ends, refuses new connections,
// and waits until the requests in flight are answered.
func (s *Server) GracefulStop() {
	s.health.Shutdown()
	s.Server.GracefulStop()
}

// inference returns the options of carrying out requests.
func (s *services) inference() inference.Options {
	return inference.Options{MaxTensorBytes: s.options.MaxTensorBytes, TensorContent: s.options.SerializeAsTensorContent}
}

// unary describes a method of one request and one answer: as a stream, so that the request
// is received within the budget; see receive. The services are declared by hand and not
// generated: see internal/base/servingproto.
func unary[Q, A any](s *services, name string, model func(*Q) string, call func(context.Context, *Q) (*A, error)) grpc.StreamDesc {
	return grpc.StreamDesc{StreamName: name, Handler: func(_ any, stream grpc.ServerStream) error {
		began := time.Now()
		lease := s.models.Memory.Lease()
		defer lease.Close()
		ctx := stream.Context()
		if s.options.MaxTime > 0 {
			limited, cancel := context.WithTimeout(ctx, s.options.MaxTime)
			defer cancel()
			ctx = limited
		}
		ctx, span := tracing.Begin(ctx, s.options.Tracer, incoming(ctx), name)
		q := new(Q)
		a, err := protected(ctx, s, name, func() (*A, error) {
			ctx, err := authenticate(ctx, s.options.Authenticate, name, "")
			if err != nil {
				return nil, err
			}
			if err := s.threads.Acquire(ctx); err != nil {
				return nil, err
			}
			defer s.threads.Release()
			if err := s.receiver.receive(stream, any(q).(proto.Message), &lease); err != nil {
				return nil, err
			}
			if err := lease.Grow(requestBytes(q, s.options.MaxTensorBytes)); err != nil {
				return nil, err
			}
			if ctx, err = authenticate(ctx, s.options.Authenticate, name, model(q)); err != nil {
				return nil, err
			}
			a, err := intercepted(prioritized(ctx), s.options.Interceptor, q, call)
			if err != nil {
				return nil, err
			}
			return a, lease.Grow(2 * int64(proto.Size(any(a).(proto.Message)))) // again for the way to the client
		})
		code := codeOf(err)
		tracing.End(span, model(q), code, err)
		if s.options.OnRequest != nil {
			s.options.OnRequest(Request{Model: model(q), Method: name, Code: code, Took: time.Since(began), Version: versionOf(a)})
		}
		if err != nil {
			return statusOf(err)
		}
		return stream.SendMsg(a)
	}}
}

// codeOf returns the status code of our errors and of gRPC's.
func codeOf(err error) tfbridge.Code {
	if s, ok := status.FromError(err); ok {
		return tfbridge.Code(s.Code())
	}
	return serving.CodeOf(err)
}

// statusOf returns an error in gRPC's form.
func statusOf(err error) error {
	return status.Error(codes.Code(codeOf(err)), status.Convert(err).Message())
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

// versionOf returns the number of the version that an answer names, 0 if it names none.
func versionOf(answer any) int64 {
	switch a := answer.(type) {
	case interface {
		GetModelSpec() *servingproto.ModelSpec
	}:
		return a.GetModelSpec().GetVersion().GetValue()
	case *servingproto.MultiInferenceResponse:
		if results := a.GetResults(); len(results) > 0 {
			return results[0].GetModelSpec().GetVersion().GetValue()
		}
	case *inferenceproto.ModelInferResponse:
		number, _ := strconv.ParseInt(a.GetModelVersion(), 10, 64) // "" without an answer
		return number
	case *inferenceproto.ModelStreamInferResponse:
		return versionOf(a.GetInferResponse())
	}
	return 0
}

// prioritized returns a context with the priority that the metadata of a request give.
func prioritized(ctx context.Context) context.Context {
	if low := metadata.ValueFromIncomingContext(ctx, batching.PriorityHeader); len(low) == 1 && low[0] == "low" {
		return batching.WithPriority(ctx, batching.LowPriority)
	}
	return ctx
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
