package rest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"millrace"
	"millrace/serving"
	"millrace/serving/auth"
	"millrace/serving/batching"
	"millrace/serving/budget"
	"millrace/serving/internal/slots"
	"millrace/serving/tracing"
	"millrace/tfbridge"
)

// Options are the options of a handler. Nil and the zero value mean the defaults.
type Options struct {
	// Timeout is the longest time for a request. 0: 30 s, as in TensorFlow Serving.
	Timeout time.Duration
	// NumThreads is how many requests for predictions are answered at a time; further
	// ones wait. 0: any number.
	NumThreads int
	// MaxBodyBytes is the longest body of a request, after decompression. 0: 64 MiB.
	MaxBodyBytes int64
	// EnableCORS answers requests of pages from other sites.
	EnableCORS bool
	// OnRequest is called after each answer. It may be nil.
	OnRequest func(Request)
	// Authenticate is called before the body of a request is read; see
	// [auth.Authenticator]. Nil: every request is allowed.
	Authenticate auth.Authenticator
	// Tracer makes a span of each request. Nil: none.
	Tracer trace.TracerProvider
	// Logger receives messages about failures that the client did not cause. Nil:
	// slog.Default.
	Logger *slog.Logger
}

// Request describes a request that was answered.
type Request struct {
	Model  string
	Method string // "predict", "classify", "regress", "metadata", "status", or "v2 infer" and the like
	Code   tfbridge.Code
	Took   time.Duration

	Version int64 // 0 if none was found
}

// handler answers requests from a server's models.
type handler struct {
	server  *serving.Server
	options Options
	scratch sync.Pool // holds *scratch
	threads slots.Slots
	refused atomic.Pointer[failure] // answer to the last overload
}

// finish ends a request that was answered, or whose client has gone.
func (c *call) finish(code tfbridge.Code, err error) {
	c.putScratch(c.scratch)
	if c.span != nil {
		c.endSpan(c.span, err)
	}
	if c.options.OnRequest != nil {
		c.options.OnRequest(Request{Model: c.spec.Name, Method: c.does, Code: code, Took: time.Since(c.began), Version: c.version})
	}
	c.lease.Close()
}

// leave gives the request's thread back, and ends its context.
func (c *call) leave() {
	if c.threaded {
		c.threads.Release()
	}
	if c.end != nil {
		c.end()
	}
}

// call is a request that is being answered.
type call struct {
	*handler
	exchange
	ctx        context.Context // context of the request, with its span
	began      time.Time
	span       trace.Span // nil: none
	end        func()     // ends the limited context; nil: there is none yet
	threaded   bool       // it has one of Options.NumThreads
	spec       serving.ModelSpec
	does       string // "predict" and so on; see [Request]
	open       bool   // no authentication is needed
	scratch    *scratch
	version    int64        // 0 if none was found
	jsonLength int          // 0, unless binary data follow the JSON
	lease      budget.Lease // lease of the memory that the request takes
	steps      *steps       // nil, unless the answer is a stream
}

// endSpan ends the span of the request.
func (c *call) endSpan(span trace.Span, err error) {
	if c.does != "" {
		span.SetName(c.does)
	}
	tracing.End(span, c.spec.Name, serving.CodeOf(err), err)
}

// lowerPriority takes a low priority from the request.
func (c *call) lowerPriority() {
	if c.header(batching.PriorityHeader) == "low" {
		c.ctx = batching.WithPriority(c.ctx, batching.LowPriority)
	}
}

// parsePath reads the request's path.
func (c *call) parsePath() error {
	method, path := c.method(), c.path()
	p, ok := splitPath(method, path)
	if !ok {
		p, ok = splitV2(method, path)
	}
	if !ok {
		return invalid("Malformed request: %s %s", millrace.Quote(method), millrace.Quote(path))
	}
	var err error
	if c.spec.Name, err = url.PathUnescape(p.name); err != nil {
		return invalid("the model's name: %w", err)
	}
	if c.spec.Label, err = url.PathUnescape(p.label); err != nil {
		return invalid("the label: %w", err)
	}
	if p.version != "" {
		if c.spec.Version, err = strconv.ParseInt(p.version, 10, 64); err != nil {
			return invalid("Failed to convert version: %s to numeric.", p.version)
		}
		c.spec.HasVersion = true
	}
	c.does, c.open = p.method, p.open()
	return nil
}

// acquire returns the version that the request is for. The caller releases it.
func (c *call) acquire(ctx context.Context) (*serving.Version, error) {
	v, err := c.server.AcquireContext(ctx, c.spec)
	if err == nil {
		c.version = v.Number
	}
	return v, err
}

// invalid returns an error about a request.
func invalid(format string, args ...any) error {
	return millrace.Errorf(millrace.ErrModel, format, args...)
}

// httpStatus are the HTTP statuses of the status codes.
var httpStatus = map[tfbridge.Code]int{
	tfbridge.OK:                 http.StatusOK,
	tfbridge.Cancelled:          499, // the client has closed the connection
	tfbridge.InvalidArgument:    http.StatusBadRequest,
	tfbridge.DeadlineExceeded:   http.StatusGatewayTimeout,
	tfbridge.NotFound:           http.StatusNotFound,
	tfbridge.AlreadyExists:      http.StatusConflict,
	tfbridge.PermissionDenied:   http.StatusForbidden,
	tfbridge.ResourceExhausted:  http.StatusTooManyRequests,
	tfbridge.FailedPrecondition: http.StatusBadRequest,
	tfbridge.Aborted:            http.StatusConflict,
	tfbridge.OutOfRange:         http.StatusBadRequest,
	tfbridge.Unimplemented:      http.StatusNotImplemented,
	tfbridge.Unavailable:        http.StatusServiceUnavailable,
	tfbridge.Unauthenticated:    http.StatusUnauthorized,
}

// statusOf returns the HTTP status of an error.
func statusOf(err error) int {
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		return http.StatusRequestEntityTooLarge
	}
	if status, ok := httpStatus[serving.CodeOf(err)]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// reply sends the answer, or the error, and returns the code of the error.
func (c *call) reply(body []byte, err error) tfbridge.Code {
	r := failure{body: body, status: http.StatusOK}
	if err != nil {
		r = c.failureOf(err)
	}
	if r.status == http.StatusInternalServerError {
		c.options.Logger.ErrorContext(c.ctx, c.does, slog.String("model", c.spec.Name), slog.String("error", err.Error()))
	}
	if err := c.respond(r.status, r.body, r.retry); err != nil {
		c.options.Logger.Debug("reply", slog.String("error", err.Error())) // the client has closed the connection
	}
	return r.code
}

// failure is the answer to an error.
type failure struct {
	err    error
	code   tfbridge.Code
	status int
	body   []byte
	retry  bool // the client may soon try again
}

// failureOf returns the answer to an error. Nearly all errors of an overloaded server
// are the same value, so the last answer is cached.
func (h *handler) failureOf(err error) failure {
	known, overloaded := err.(*millrace.Error)
	overloaded = overloaded && known.Class == millrace.ErrOverloaded
	if last := h.refused.Load(); overloaded && last != nil && last.err == err {
		return *last
	}
	r := failure{err: err, code: serving.CodeOf(err), status: statusOf(err), body: appendError(nil, err), retry: errors.Is(err, millrace.ErrOverloaded)}
	if overloaded {
		h.refused.Store(&r)
	}
	return r
}

// appendError appends the body of an error.
func appendError(b []byte, err error) []byte {
	b = append(b, `{"error":`...)
	b = appendString(b, fmt.Sprint(err))
	return append(b, "}\n"...)
}
