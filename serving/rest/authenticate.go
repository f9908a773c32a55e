package rest

import (
	"context"
	"crypto/tls"
	"crypto/x509"

	"millrace/serving/auth"
)

// shown is the credentials of a request's client.
type shown struct {
	header       string // Authorization
	certificates []*x509.Certificate
}

// authenticated returns a context with the identity of a request's client, or the error that
// refuses it.
func (s shown) authenticated(ctx context.Context, who auth.Authenticator, r auth.Request) (context.Context, error) {
	r.Token, r.Certificates = auth.Bearer(s.header), s.certificates
	identity, err := who(ctx, &r)
	if err != nil {
		return ctx, err
	}
	return auth.WithIdentity(ctx, identity), nil
}

// verified returns the client certificates that the handshake has verified.
func verified(state *tls.ConnectionState) []*x509.Certificate {
	if state == nil || len(state.VerifiedChains) == 0 {
		return nil
	}
	return state.VerifiedChains[0]
}
