package rest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"millrace/internal/test/identity"
	"millrace/serving"
	"millrace/serving/auth"
)

// asked is a request to a server with an authenticator, and the status of its answer.
type asked struct {
	name, method, path, token string
	certificate               bool
	want                      int
}

// With TLS and an authenticator a Server, and a handler of net/http, answer clients
// that show a token or a certificate. The bodies of others are not read.
func TestSecure(t *testing.T) {
	s := serveModels(t, &serving.Options{}, "constant")
	me := identity.New(t)
	secured := &tls.Config{Certificates: []tls.Certificate{me.TLS}, ClientCAs: me.Pool, ClientAuth: tls.VerifyClientCertIfGiven}
	who := func(ctx context.Context, r *auth.Request) (string, error) {
		name, err := auth.Any(auth.Tokens(map[string]string{"let me in": "tester"}), auth.Certificates())(ctx, r)
		if err == nil && r.Model == "secret" {
			err = auth.Denied("%s may not ask %s", name, r.Model)
		}
		return name, err
	}
	o := Options{Logger: quiet, Authenticate: who}
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Path) })
	web := NewServer(s, &ServerOptions{Options: o, Other: page, Open: []string{"/healthz"}, TLS: secured})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go web.Serve(l)
	defer web.Shutdown(t.Context())
	other := httptest.NewUnstartedServer(NewHandler(s, &o))
	other.TLS = secured
	other.StartTLS()
	defer other.Close()
	tests := []asked{
		{"nobody", "POST", "/v1/models/constant:predict", "", false, 401},
		{"a wrong token", "POST", "/v1/models/constant:predict", "let me", false, 401},
		{"a token", "POST", "/v1/models/constant:predict", "let me in", false, 200},
		{"a certificate", "POST", "/v1/models/constant:predict", "", true, 200},
		{"a model that is denied", "POST", "/v1/models/secret:predict", "let me in", false, 403},
		{"a status for nobody", "GET", "/v1/models/constant", "", false, 401},
		{"a page for nobody", "GET", "/metrics", "", false, 401},
		{"a page", "GET", "/metrics", "let me in", false, 200},
		{"health for everybody", "GET", "/healthz", "", false, 200},
	}
	for _, tt := range tests {
		client := func(certificate bool) *http.Client {
			c := &tls.Config{RootCAs: me.Pool, ServerName: "localhost"}
			if certificate {
				c.Certificates = []tls.Certificate{me.TLS}
			}
			return &http.Client{Transport: &http.Transport{TLSClientConfig: c}}
		}(tt.certificate)
		for i, at := range []string{"https://" + l.Addr().String(), other.URL} {
			if i == 1 && !strings.HasPrefix(tt.path, "/v1/") {
				continue
			}
			body := strings.NewReader("")
			if tt.method == "POST" {
				body = strings.NewReader(`{"instances": [1]}`)
			}
			r, err := http.NewRequestWithContext(t.Context(), tt.method, at+tt.path, body)
			if err != nil {
				t.Fatal(err)
			}
			if tt.token != "" {
				r.Header.Set("Authorization", "Bearer "+tt.token)
			}
			a, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			a.Body.Close()
			if a.StatusCode != tt.want || (a.Header.Get("WWW-Authenticate") != "") != (tt.want == 401) {
				t.Errorf("%s, server %d: got %s with %v, want %d", tt.name, i, a.Status, a.Header, tt.want)
			}
		}
		client.CloseIdleConnections()
	}
	if a, err := http.Get("http://" + l.Addr().String() + "/healthz"); err == nil && a.StatusCode == http.StatusOK {
		t.Error("a client without TLS got an answer")
	}
}

// A client whose certificate another authority has signed, or has expired, gets no answer, nor does
// one that speaks an old version of TLS. Sound clients do, next to them.
func TestCertificatesOfOthers(t *testing.T) {
	s := serveModels(t, &serving.Options{}, "constant")
	me, stranger := identity.New(t), identity.New(t)
	expired := identity.NewBetween(t, time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM([]byte(me.Certificate + expired.Certificate))
	secured := &tls.Config{Certificates: []tls.Certificate{me.TLS}, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert}
	web := NewServer(s, &ServerOptions{Options: Options{Logger: quiet}, TLS: secured})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go web.Serve(l)
	defer web.Shutdown(t.Context())
	for _, tt := range []struct {
		name        string
		certificate *identity.Identity
		newest      uint16
		sound       bool
	}{
		{"mine", me, 0, true},
		{"a stranger's", stranger, 0, false},
		{"an expired one", expired, 0, false},
		{"none", nil, 0, false},
		{"mine with TLS 1.1", me, tls.VersionTLS11, false},
		{"mine again", me, 0, true},
	} {
		c := &tls.Config{RootCAs: me.Pool, ServerName: "localhost", MinVersion: tls.VersionTLS10, MaxVersion: tt.newest}
		if tt.certificate != nil {
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &tt.certificate.TLS, nil }
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: c}}
		a, err := client.Get("https://" + l.Addr().String() + "/v1/models/constant")
		if err == nil {
			a.Body.Close()
		}
		client.CloseIdleConnections()
		if sound := err == nil && a.StatusCode == http.StatusOK; sound != tt.sound {
			t.Errorf("%s: answered: %v, want %v (%v)", tt.name, sound, tt.sound, err)
		}
	}
}
