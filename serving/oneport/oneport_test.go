package oneport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"millrace/internal/test/identity"
	"millrace/internal/test/testruntime"
	"millrace/serving"
	"millrace/serving/auth"
	"millrace/serving/rest"
	"millrace/serving/rpc"
)

// Clients of gRPC and of HTTP find their server at one port, with TLS and without. By TLS both
// servers see the client's certificate.
func TestOnePort(t *testing.T) {
	testruntime.Need(t)
	me := identity.New(t)
	for _, secured := range []bool{false, true} {
		quiet := slog.New(slog.DiscardHandler)
		models, err := serving.New(t.Context(), []serving.ModelConfig{{Name: "m", BasePath: "../../testdata/models/constant"}}, &serving.Options{FileSystemPollWait: -1, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "localhost:0")
		if err != nil {
			t.Fatal(err)
		}
		o, who, scheme := &Options{}, auth.Authenticator(nil), "http://"
		client := &http.Client{Transport: &http.Transport{}}
		creds := insecure.NewCredentials()
		var settings []grpc.ServerOption
		if secured {
			o.TLS = &tls.Config{Certificates: []tls.Certificate{me.TLS}, ClientCAs: me.Pool, ClientAuth: tls.VerifyClientCertIfGiven}
			mine := &tls.Config{Certificates: []tls.Certificate{me.TLS}, RootCAs: me.Pool, ServerName: "localhost"}
			who, scheme, creds = auth.Certificates(), "https://", credentials.NewTLS(mine)
			client.Transport = &http.Transport{TLSClientConfig: mine}
			settings = append(settings, grpc.Creds(Credentials()))
		}
		toRPC, toREST := Split(l, o)
		web := rest.NewServer(models, &rest.ServerOptions{Options: rest.Options{Logger: quiet, Authenticate: who}})
		server := rpc.NewServer(models, &rpc.Options{Logger: quiet, Authenticate: who, ServerOptions: settings})
		ended := make(chan error, 2)
		go func() { ended <- web.Serve(toREST) }()
		go func() { ended <- server.Serve(toRPC) }()
		answer, err := client.Post(scheme+l.Addr().String()+"/v1/models/m:predict", "", strings.NewReader(`{"instances": [1, 2]}`))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK || !strings.Contains(string(text), "predictions") {
			t.Errorf("TLS %v: HTTP answered %s %s", secured, answer.Status, text)
		}
		conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(creds))
		if err != nil {
			t.Fatal(err)
		}
		health, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		if err != nil || health.Status != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("TLS %v: gRPC answered %v, %v", secured, health, err)
		}
		conn.Close()
		client.CloseIdleConnections()
		server.GracefulStop()
		if err := web.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("TLS %v: Serve: %v", secured, err)
			}
		}
		if err := models.Close(); err != nil {
			t.Error(err)
		}
		if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
			c.Close()
			t.Errorf("TLS %v: the port is open after both servers ended", secured)
		}
	}
}

// A slow client delays no others, and is disconnected after its time. A connection that
// ends before it is recognized as gRPC goes to HTTP.
func TestBegin(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	toRPC, toREST := Split(l, &Options{FirstByteTime: time.Second / 10, MaxUndecided: 100})
	slow, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	io.WriteString(slow, preface[:7])
	for text, side := range map[string]net.Listener{"GET / HTTP/1.1": toREST, "PRI * HTTP/1": toREST, preface + "more": toRPC} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, text)
		served, err := side.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		if got, err := io.ReadAll(served); err != nil || string(got) != text {
			t.Errorf("the server reads %q, %v, want %q", got, err, text)
		}
		served.Close()
	}
	if n, err := slow.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("the slow client reads %d bytes, %v, want the end", n, err)
	}
	toRPC.Close()
	toREST.Close()
	if _, err := toREST.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, _, err := Credentials().ClientHandshake(context.Background(), "", nil); err == nil {
		t.Error("the credentials take a client")
	}
}

// Handshakes that stall, break off or are invalid end; another client is answered
// meanwhile.
func TestStalledHandshakes(t *testing.T) {
	testruntime.Need(t)
	me := identity.New(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	toRPC, toREST := Split(l, &Options{TLS: &tls.Config{Certificates: []tls.Certificate{me.TLS}}, FirstByteTime: time.Second / 2})
	web := &http.Server{Handler: http.NotFoundHandler()}
	go web.Serve(toREST)
	defer web.Close()
	defer toRPC.Close()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: me.Pool, ServerName: "localhost"}}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		identity.Stall(t, l.Addr().String())
	}()
	for n := 0; ; n++ {
		answer, err := client.Get("https://" + l.Addr().String())
		if err != nil {
			t.Fatalf("a sound client: %v", err)
		}
		answer.Body.Close()
		select {
		case <-ended:
			return
		default:
		}
	}
}
