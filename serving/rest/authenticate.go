package rest

import (
	"context"

	"millrace/serving/auth"
)

// authenticate asks who the client is, and notes it in the context of the request.
func (c *call) authenticate(method, model string) error {
	ctx, err := authenticated(c.ctx, c.options.Authenticate, c.exchange, &auth.Request{Method: method, Model: model})
	c.ctx = ctx
	return err
}

// authenticated returns a context with the identity of a request's client, or the error that
// refuses it.
func authenticated(ctx context.Context, who auth.Authenticator, x exchange, r *auth.Request) (context.Context, error) {
	if who == nil {
		return ctx, nil
	}
	r.Token, r.Certificates = auth.Bearer(x.header("Authorization")), x.certificates()
	identity, err := who(ctx, r)
	if err != nil {
		return ctx, err
	}
	return auth.WithIdentity(ctx, identity), nil
}
