// Package auth decides which clients may send requests to a model server.
//
// An [Authenticator] gets the credentials of a request's client: a bearer token, or the
// certificates of mutual TLS. Both [millrace/serving/rest] and [millrace/serving/rpc]
// call it before they read a request's body:
//
//	who := auth.Tokens(map[string]string{"s3cret": "team-a"})
//	rest.NewServer(models, &rest.ServerOptions{Options: rest.Options{Authenticate: who}})
//	rpc.NewServer(models, &rpc.Options{Authenticate: who})
//
// Your own function may check the model as well:
//
//	func(ctx context.Context, r *auth.Request) (string, error) {
//		name, err := who(ctx, r)
//		if err == nil && r.Model == "internal" && name != "team-a" {
//			err = auth.Denied("%s may not ask model %q", name, r.Model)
//		}
//		return name, err
//	}
package auth

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"strings"

	"millrace"
	"millrace/tfbridge"
)

// Request is the part of a request that is known before its body is read.
type Request struct {
	// Method is "predict", "classify", "regress", "metadata", "status" or "page" by HTTP, and
	// the name of the method by gRPC: "Predict", "GetModelStatus" and so on.
	Method string
	// Model is the model of the request. A gRPC request names it in its message, so an
	// Authenticator is called twice: before the message is read, without a model, and
	// then with it.
	Model string
	// Token is the token of the header "Authorization: Bearer", "" if there is none.
	Token string
	// Certificates are the client's chain, its own first. The TLS handshake has verified
	// them. Nil: the client showed none.
	Certificates []*x509.Certificate
}

// Authenticator returns the name of a client, or an error that refuses the request: one
// of [Unauthenticated] or [Denied]. [Identity] returns the name from a request's
// context. The Authenticator must be safe for concurrent use.
type Authenticator func(ctx context.Context, r *Request) (identity string, err error)

// Unauthenticated returns an error for a client without valid credentials: HTTP status
// 401, gRPC's UNAUTHENTICATED.
func Unauthenticated(format string, args ...any) error {
	return refusal(tfbridge.Unauthenticated, format, args)
}

// Denied returns an error for a client that is not allowed to make the request: HTTP
// status 403, gRPC's PERMISSION_DENIED.
func Denied(format string, args ...any) error {
	return refusal(tfbridge.PermissionDenied, format, args)
}

// refusal returns an error with a status code.
func refusal(code tfbridge.Code, format string, args []any) error {
	e := millrace.Errorf(millrace.ErrConfig, format, args...)
	e.Code = int(code)
	return e
}

// Tokens accepts bearer tokens. The map has the identity of each.
func Tokens(identities map[string]string) Authenticator {
	// The keys are hashes, so that comparing takes the same time for every wrong token.
	known := make(map[[sha256.Size]byte]string, len(identities))
	for token, identity := range identities {
		known[sha256.Sum256([]byte(token))] = identity
	}
	return func(_ context.Context, r *Request) (string, error) {
		if r.Token == "" {
			return "", Unauthenticated("the request has no bearer token: send the header \"Authorization: Bearer TOKEN\"")
		}
		if identity, ok := known[sha256.Sum256([]byte(r.Token))]; ok {
			return identity, nil
		}
		return "", Unauthenticated("the bearer token is not known")
	}
}

// Certificates accepts clients with a verified certificate. The identity is its first URI (as of
// SPIFFE), or its first DNS name, or its common name.
func Certificates() Authenticator {
	return func(_ context.Context, r *Request) (string, error) {
		if len(r.Certificates) == 0 {
			return "", Unauthenticated("the client has shown no certificate")
		}
		c := r.Certificates[0]
		switch {
		case len(c.URIs) > 0:
			return c.URIs[0].String(), nil
		case len(c.DNSNames) > 0:
			return c.DNSNames[0], nil
		}
		return c.Subject.CommonName, nil
	}
}

// Any calls authenticators in order and accepts the client as soon as one does. If none
// does, the error comes from the last.
func Any(all ...Authenticator) Authenticator {
	return func(ctx context.Context, r *Request) (identity string, err error) {
		err = Unauthenticated("nobody is accepted")
		for _, a := range all {
			if identity, err = a(ctx, r); err == nil {
				return identity, nil
			}
		}
		return "", err
	}
}

// Bearer returns the token of the value of a header "Authorization", "" if it has none.
func Bearer(header string) string {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// identityKey is the key of the identity in a context.
type identityKey struct{}

// WithIdentity returns a context with the identity of a client.
func WithIdentity(ctx context.Context, identity string) context.Context {
	return context.WithValue(ctx, identityKey{}, identity)
}

// Identity returns the identity of the client of a request by its context, "" if there was no
// [Authenticator].
func Identity(ctx context.Context) string {
	identity, _ := ctx.Value(identityKey{}).(string)
	return identity
}
