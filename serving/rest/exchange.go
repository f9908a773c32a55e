package rest

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/propagation"

	"millrace/serving/budget"
)

// exchange is a request and the way back to its client. [Server] has an implementation
// for fasthttp and [NewHandler] one for net/http; all other code is the same.
type exchange interface {
	method() string
	path() string // still escaped
	// header returns a header of the request, "" if there is none.
	header(name string) string
	// carrier has the request's headers for tracing.
	carrier() propagation.TextMapCarrier
	// body returns the body as the client sent it, and its length, which is negative if
	// the client does not give it.
	body() (io.Reader, int64)
	// shown returns the request's credentials.
	shown() shown
	// limit returns a context for the work on a request that began at a time. It ends after
	// timeout, when the client closes the connection, or when end is called.
	limit(ctx context.Context, began time.Time, timeout time.Duration) (limited context.Context, end func())
	// send sends the answer. It may keep the body until the exchange is over if keep is
	// true, and copies it otherwise.
	send(a *answer) error
	// stream sends an answer of status 200 with server-sent events. write sends each event
	// with send, whose error is a client that has gone. It may run after stream has
	// returned, and must not use the exchange.
	stream(cors bool, write func(send func(event []byte) error))
}

// answer is the response to the client.
type answer struct {
	status int
	body   []byte
	gzip   bool // the body is compressed
	cors   bool // pages of other sites may read it
	retry  bool // the client may try again soon
	json   int  // how long the JSON is before binary data; 0: all is JSON

	lease *budget.Lease // lease of the request, which ends with it
}

// Headers of answers.
const (
	contentType  = "application/json"
	binaryType   = "application/octet-stream"
	vary         = "Accept-Encoding"
	allowOrigin  = "*"
	allowMethods = "POST, GET"
	allowHeaders = "Content-Type"
	retryAfter   = "1" // in seconds
	authenticate = "Bearer"

	eventsType = "text/event-stream"
	noCache    = "no-cache"

	inferenceHeader = "Inference-Header-Content-Length" // bytes of JSON before binary data
)

// netExchange is an exchange of net/http.
type netExchange struct {
	writer  http.ResponseWriter
	request *http.Request
}

func (x *netExchange) method() string            { return x.request.Method }
func (x *netExchange) path() string              { return x.request.URL.EscapedPath() }
func (x *netExchange) header(name string) string { return x.request.Header.Get(name) }
func (x *netExchange) body() (io.Reader, int64)  { return x.request.Body, x.request.ContentLength }

func (x *netExchange) shown() shown {
	return shown{x.request.Header.Get("Authorization"), verified(x.request.TLS)}
}

func (x *netExchange) carrier() propagation.TextMapCarrier {
	return propagation.HeaderCarrier(x.request.Header)
}

// limit leaves the connection to net/http, which cancels the request's own context. A
// body gets the same time as in Server, if the connection supports deadlines.
func (x *netExchange) limit(ctx context.Context, began time.Time, timeout time.Duration) (context.Context, func()) {
	_ = http.NewResponseController(x.writer).SetReadDeadline(began.Add(2 * timeout))
	return context.WithDeadline(ctx, began.Add(timeout))
}

func (x *netExchange) stream(cors bool, write func(send func(event []byte) error)) {
	h := x.writer.Header()
	h.Set("Content-Type", eventsType)
	h.Set("Cache-Control", noCache)
	if cors {
		h.Set("Access-Control-Allow-Origin", allowOrigin)
	}
	x.writer.WriteHeader(http.StatusOK)
	control := http.NewResponseController(x.writer)
	write(func(event []byte) error {
		if _, err := x.writer.Write(event); err != nil {
			return err
		}
		return control.Flush()
	})
}

func (x *netExchange) send(a *answer) error {
	h := x.writer.Header()
	h.Set("Content-Type", contentType)
	if a.json > 0 {
		h.Set("Content-Type", binaryType)
		h.Set(inferenceHeader, strconv.Itoa(a.json))
	}
	h.Set("Vary", vary)
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	if a.gzip {
		h.Set("Content-Encoding", "gzip")
	}
	if a.cors {
		h.Set("Access-Control-Allow-Origin", allowOrigin)
		h.Set("Access-Control-Allow-Methods", allowMethods)
		h.Set("Access-Control-Allow-Headers", allowHeaders)
	}
	if a.retry {
		h.Set("Retry-After", retryAfter)
	}
	if a.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", authenticate)
	}
	x.writer.WriteHeader(a.status)
	_, err := x.writer.Write(a.body)
	return err
}
