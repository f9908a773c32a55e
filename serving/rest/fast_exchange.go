package rest

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/propagation"
)

// fastExchange is an exchange of fasthttp. What fasthttp returns as bytes is valid
// until the exchange is over.
type fastExchange struct {
	*fasthttp.RequestCtx
	watcher *watcher
}

func (x *fastExchange) method() string {
	if x.IsPost() {
		return fasthttp.MethodPost // without a copy
	}
	return string(x.Method())
}

func (x *fastExchange) path() string              { return string(x.URI().PathOriginal()) }
func (x *fastExchange) header(name string) string { return string(x.Request.Header.Peek(name)) }

func (x *fastExchange) carrier() propagation.TextMapCarrier {
	return fastCarrier{&x.Request.Header}
}

func (x *fastExchange) shown() shown {
	return shown{x.header("Authorization"), verified(x.TLSConnectionState())}
}

func (x *fastExchange) body() (io.Reader, int64) {
	if stream := x.RequestBodyStream(); stream != nil {
		return stream, int64(x.Request.Header.ContentLength())
	}
	return bytes.NewReader(nil), 0
}

// limit leaves the timeout to the watcher, because it is the server's timeout.
func (x *fastExchange) limit(ctx context.Context, began time.Time, _ time.Duration) (context.Context, func()) {
	w := x.watcher.add(ctx, x.Conn(), began)
	return w, w.end
}

// varyKey and varyValue are a header in the form that fasthttp uses without a copy.
var varyKey, varyValue = []byte("Vary"), []byte(vary)

// mostCopied is the largest length of an answer that is copied into the memory that
// fasthttp keeps for each connection.
const mostCopied = 16 << 10

func (x *fastExchange) send(a *answer) error {
	h := &x.Response.Header
	x.SetStatusCode(a.status)
	h.SetContentType(contentType)
	if a.json > 0 {
		h.SetContentType(binaryType)
		h.Set(inferenceHeader, strconv.Itoa(a.json))
	}
	h.SetCanonical(varyKey, varyValue)
	if a.gzip {
		h.SetContentEncoding("gzip")
	}
	if a.cors {
		h.Set("Access-Control-Allow-Origin", allowOrigin)
		h.Set("Access-Control-Allow-Methods", allowMethods)
		h.Set("Access-Control-Allow-Headers", allowHeaders)
	}
	if a.retry {
		h.Set("Retry-After", retryAfter)
	}
	if a.status == fasthttp.StatusUnauthorized {
		h.Set("WWW-Authenticate", authenticate)
	}
	if len(a.body) <= mostCopied {
		x.Response.SetBody(a.body)
	} else {
		x.Response.SetBodyRaw(slices.Clone(a.body))
		x.SetUserValue(leaseKey{}, a.lease.Split(int64(len(a.body)))) // fasthttp closes it when the answer is sent, or cannot be
	}
	return nil // fasthttp sends it when the handler has returned
}

// stream leaves the events to a goroutine of fasthttp, which outlives the exchange.
func (x *fastExchange) stream(cors bool, write func(send func(event []byte) error)) {
	h := &x.Response.Header
	h.SetContentType(eventsType)
	h.Set("Cache-Control", noCache)
	if cors {
		h.Set("Access-Control-Allow-Origin", allowOrigin)
	}
	x.Response.ImmediateHeaderFlush = true
	x.SetBodyStreamWriter(func(w *bufio.Writer) {
		write(func(event []byte) error {
			if _, err := w.Write(event); err != nil {
				return err
			}
			return w.Flush()
		})
	})
}

// leaseKey is the key of the lease of an answer.
type leaseKey struct{}

// fastCarrier gives the headers of a request to tracing.
type fastCarrier struct{ header *fasthttp.RequestHeader }

func (c fastCarrier) Get(key string) string { return string(c.header.Peek(key)) }
func (c fastCarrier) Set(key, value string) { c.header.Set(key, value) }

func (c fastCarrier) Keys() []string {
	var keys []string
	for key := range iter.Seq2[[]byte, []byte](c.header.All()) {
		keys = append(keys, string(key))
	}
	return keys
}
