package rest

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/trace"

	"millrace"
	"millrace/serving"
	"millrace/serving/auth"
	"millrace/serving/internal/slots"
	"millrace/serving/tracing"
)

// NewHandler returns a handler of /v2 and of the paths below /v1 and /v2, for a server
// of net/http. Many goroutines may use it. [Server] answers the same requests faster.
func NewHandler(s *serving.Server, o *Options) http.Handler { return newHandler(s, o) }

// newHandler returns a handler.
func newHandler(s *serving.Server, o *Options) *handler {
	h := &handler{server: s}
	if o != nil {
		h.options = *o
	}
	h.options.Timeout = cmp.Or(h.options.Timeout, 30*time.Second)
	h.options.MaxBodyBytes = cmp.Or(h.options.MaxBodyBytes, 64<<20)
	h.options.Logger = cmp.Or(h.options.Logger, slog.Default())
	h.threads = slots.New(h.options.NumThreads)
	return h
}

// ServeHTTP answers a request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.serve(r.Context(), &netExchange{w, r})
}

// serve answers a request.
func (h *handler) serve(ctx context.Context, x exchange) {
	began := time.Now()
	var span trace.Span
	if h.options.Tracer != nil {
		ctx, span = tracing.Begin(ctx, h.options.Tracer, x.carrier(), "HTTP "+x.method())
	}
	call := &call{handler: h, exchange: x, ctx: ctx, began: began, span: span, scratch: h.getScratch()}
	body, err := dispatch(call)
	if call.steps != nil && err == nil {
		x.stream(h.options.EnableCORS, func(send func([]byte) error) { sendSteps(call, send) })
		return
	}
	call.finish(call.reply(body, err), err)
}

// dispatch returns the body of the answer. A panic becomes an error.
func dispatch(c *call) (body []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.options.Logger.ErrorContext(c.ctx, "panic", slog.String("path", c.path()), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = millrace.Errorf(millrace.ErrInternal, "the request made the server panic")
		}
		if c.steps == nil || err != nil {
			c.leave()
		}
	}()
	c.lease = c.server.Memory.Lease()
	if c.options.EnableCORS && c.method() == http.MethodOptions {
		return nil, nil
	}
	if err := c.parsePath(); err != nil {
		return nil, err
	}
	if who := c.options.Authenticate; who != nil && !c.open {
		if c.ctx, err = c.shown().authenticated(c.ctx, who, auth.Request{Method: c.does, Model: c.spec.Name}); err != nil {
			return nil, err
		}
	}
	if c.method() == http.MethodPost { // refuse before more work is done
		if err := c.server.Admit(c.spec); err != nil {
			return nil, err
		}
	}
	c.lowerPriority()
	ctx, end := c.limit(c.ctx, c.began, c.options.Timeout)
	c.end = end
	if c.method() == http.MethodPost {
		if err := c.threads.Acquire(ctx); err != nil {
			return nil, err
		}
		c.threaded = true
	}
	switch c.does {
	case "predict":
		return c.predict(ctx)
	case "classify":
		return c.classify(ctx)
	case "regress":
		return c.regress(ctx)
	case "metadata":
		return c.metadata()
	case "status":
		return c.status()
	case v2Infer:
		return c.infer(ctx)
	case v2Stream:
		return nil, generate(ctx, c)
	}
	return c.answerV2()
}
