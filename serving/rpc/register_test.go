package rpc

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/identity"
	"millrace/internal/test/testruntime"
	"millrace/serving"
	"millrace/serving/auth"
	"millrace/serving/batching"
)

// The services work in the caller's server, with interceptors, and with clients that
// show tokens or certificates.
func TestRegister(t *testing.T) {
	testruntime.Need(t)
	quiet := slog.New(slog.DiscardHandler)
	models, err := serving.New(t.Context(), []serving.ModelConfig{{Name: "constant", BasePath: testdata + "constant"}}, &serving.Options{FileSystemPollWait: -1, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer models.Close()
	me := identity.New(t)
	var mu sync.Mutex
	var seen []string
	note := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, text)
	}
	o := &Options{
		Logger: quiet,
		TLS:    &tls.Config{Certificates: []tls.Certificate{me.TLS}, ClientCAs: me.Pool, ClientAuth: tls.VerifyClientCertIfGiven},
		Authenticate: func(ctx context.Context, r *auth.Request) (string, error) {
			name, err := auth.Any(auth.Tokens(map[string]string{"t": "by token"}), auth.Certificates())(ctx, r)
			if r.Model == "secret" {
				return "", auth.Denied("no")
			}
			return name, err
		},
		Interceptor: func(ctx context.Context, q any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			note(fmt.Sprint(info.FullMethod, " ", auth.Identity(ctx), " ", batching.PriorityOf(ctx)))
			return next(ctx, q)
		},
		ServerOptions: []grpc.ServerOption{grpc.ChainStreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
			note("stream")
			return next(srv, stream)
		})},
	}
	server := grpc.NewServer(ServerOptions(o)...)
	Register(server, models, o)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	defer server.Stop()
	for _, tt := range []struct {
		name, model, token string
		certificate        bool
		want               codes.Code
		seen               []string
	}{
		{"nobody", "constant", "", false, codes.Unauthenticated, []string{"stream"}},
		{"a token", "constant", "t", false, codes.OK, []string{"stream", "/tensorflow.serving.PredictionService/Predict by token -1"}},
		{"a certificate", "constant", "", true, codes.OK, []string{"stream", "/tensorflow.serving.PredictionService/Predict localhost 0"}},
		{"a model that is denied", "secret", "t", false, codes.PermissionDenied, []string{"stream"}},
	} {
		seen = nil
		c := &tls.Config{RootCAs: me.Pool, ServerName: "localhost"}
		if tt.certificate {
			c.Certificates = []tls.Certificate{me.TLS}
		}
		conn := dial(t, l.Addr().String(), credentials.NewTLS(c))
		ctx := t.Context()
		if tt.token != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+tt.token, batching.PriorityHeader, "low")
		}
		q := &servingproto.PredictRequest{ModelSpec: spec(tt.model, ""), Inputs: map[string]*tfproto.TensorProto{"x": floats(1)}}
		err := conn.Invoke(ctx, "/tensorflow.serving.PredictionService/Predict", q, &servingproto.PredictResponse{})
		conn.Close()
		if status.Code(err) != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
		mu.Lock()
		if !slices.Equal(seen, tt.seen) {
			t.Errorf("%s: interceptors saw %q, want %q", tt.name, seen, tt.seen)
		}
		mu.Unlock()
	}
}
