package auth

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net/url"
	"testing"

	"millrace"
	"millrace/tfbridge"
)

func TestAuthenticators(t *testing.T) {
	named := &x509.Certificate{Subject: pkix.Name{CommonName: "cn"}}
	host := &x509.Certificate{Subject: pkix.Name{CommonName: "cn"}, DNSNames: []string{"host"}}
	spiffe := &x509.Certificate{DNSNames: []string{"host"}, URIs: []*url.URL{{Scheme: "spiffe", Host: "a", Path: "/b"}}}
	tokens := Tokens(map[string]string{"one": "first", "two": "second"})
	both := Any(tokens, Certificates())
	tests := []struct {
		name string
		who  Authenticator
		r    Request
		want string // "": refused
	}{
		{"a token", tokens, Request{Token: "two"}, "second"},
		{"another token", tokens, Request{Token: "tw"}, ""},
		{"no token", tokens, Request{Certificates: []*x509.Certificate{named}}, ""},
		{"no certificate", Certificates(), Request{Token: "one"}, ""},
		{"a common name", Certificates(), Request{Certificates: []*x509.Certificate{named, host}}, "cn"},
		{"a DNS name", Certificates(), Request{Certificates: []*x509.Certificate{host}}, "host"},
		{"a URI", Certificates(), Request{Certificates: []*x509.Certificate{spiffe}}, "spiffe://a/b"},
		{"either, the first", both, Request{Token: "one"}, "first"},
		{"either, the second", both, Request{Token: "three", Certificates: []*x509.Certificate{host}}, "host"},
		{"neither", both, Request{}, ""},
		{"nobody", Any(), Request{Token: "one"}, ""},
	}
	for _, tt := range tests {
		got, err := tt.who(t.Context(), &tt.r)
		var e *millrace.Error
		refused := errors.As(err, &e) && e.Code == int(tfbridge.Unauthenticated)
		if got != tt.want || (err != nil) != (tt.want == "") || err != nil && !refused {
			t.Errorf("%s: got %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{"Bearer a b": "a b", "bearer x ": "x", "Basic eDp5": "", "Bearer": "", "": ""} {
		if got := Bearer(header); got != want {
			t.Errorf("%q: got %q, want %q", header, got, want)
		}
	}
}

func TestIdentity(t *testing.T) {
	if got := Identity(WithIdentity(t.Context(), "me")) + Identity(context.Background()); got != "me" {
		t.Errorf("got %q", got)
	}
}
