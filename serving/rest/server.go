package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"millrace"
	"millrace/serving"
	"millrace/serving/auth"
	"millrace/serving/internal/accept"
)

// ServerOptions are the options of a [Server]. Nil and the zero value mean the
// defaults.
type ServerOptions struct {
	Options
	// Other answers requests whose path is not below /v1/: GET and HEAD without a body.
	// Nil: such requests get status 404.
	Other http.Handler
	// Open are the paths of Other that do not need authentication by
	// Options.Authenticate, such as health checks.
	Open []string
	// TLS encrypts connections, and requests client certificates if it is configured
	// so. Nil: connections are not encrypted.
	TLS *tls.Config
}

// Server answers requests of the paths below /v1 over the listeners it is given. Many
// goroutines may use it.
//
// A client is disconnected if it does not send the headers and a short body within 10 s
// of their first byte, if it takes longer than twice Options.Timeout for a long body,
// or longer than Options.Timeout to read its answer. A connection that sends nothing is
// closed after two minutes, by TLS after 10 s.
type Server struct {
	handler *handler
	other   fasthttp.RequestHandler
	open    []string
	tls     *tls.Config // nil: none
	watcher *watcher
	web     fasthttp.Server
	headers time.Duration // the first request's headers may take as long, from their first byte

	mu          sync.Mutex // guards the fields below
	connections map[net.Conn]struct{}
	closed      bool
}

// Limits of connections. maxHeader is also the size of a connection's read buffer.
const (
	headerTimeout, idleTimeout = 10 * time.Second, 2 * time.Minute
	maxHeader                  = 8 << 10
	shortBody                  = 4 << 10
)

// NewServer returns a server of the models that s has. The caller closes s after
// [Server.Shutdown].
func NewServer(s *serving.Server, o *ServerOptions) *Server {
	if o == nil {
		o = &ServerOptions{}
	}
	w := &Server{handler: newHandler(s, &o.Options), connections: map[net.Conn]struct{}{}, headers: headerTimeout}
	if o.Other != nil {
		w.other = fasthttpadaptor.NewFastHTTPHandler(o.Other)
	}
	if w.open = o.Open; o.TLS != nil {
		w.tls = o.TLS.Clone()
		w.tls.NextProtos = []string{"http/1.1"}
	}
	timeout := w.handler.options.Timeout
	w.watcher = newWatcher(timeout)
	w.web = fasthttp.Server{
		Handler: w.answer, ErrorHandler: refuse, ConnState: w.note,
		Logger:      slog.NewLogLogger(w.handler.options.Logger.Handler(), slog.LevelDebug),
		ReadTimeout: headerTimeout, WriteTimeout: timeout, IdleTimeout: idleTimeout,
		HeaderReceived: func(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
			if n := h.ContentLength(); n < 0 || n > shortBody {
				c.ReadTimeout = 2 * timeout
			}
			return c
		},
		StreamRequestBody: true, DisablePreParseMultipartForm: true, // requests are refused before their bodies are read
		ReadBufferSize: maxHeader, NoDefaultServerHeader: true, CloseOnShutdown: true, LazyRequestTime: true,
	}
	return w
}

// Serve answers requests over a listener, which it closes. It returns nil after
// [Server.Shutdown].
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return errors.Join(millrace.Errorf(millrace.ErrClosed, "the server is shut down"), l.Close())
	}
	l = accept.Steady(l)
	if s.tls != nil { // a client begins its handshake at once
		l = tls.NewListener(patientListener{l, s.headers, s.headers}, s.tls)
	} else {
		l = patientListener{l, idleTimeout, s.headers}
	}
	if err := s.web.Serve(l); err != nil {
		return millrace.Errorf(millrace.ErrIO, "serve HTTP: %w", err)
	}
	return nil
}

// Shutdown closes the listeners, waits until the requests in flight are answered, and
// closes their connections. When ctx is done it cancels these requests, closes the
// connections, and returns an error of class millrace.ErrCanceled.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.web.ShutdownWithContext(ctx)
	if err == nil || ctx.Err() == nil {
		return err
	}
	s.watcher.cancelAll()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.connections {
		c.Close()
	}
	return millrace.Canceled(ctx, "waiting for the requests in flight")
}

// note counts the connections.
func (s *Server) note(c net.Conn, state fasthttp.ConnState) {
	if state == fasthttp.StateActive || state == fasthttp.StateIdle {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if state == fasthttp.StateNew {
		s.connections[c] = struct{}{}
	} else {
		delete(s.connections, c)
	}
}

// answer answers a request.
func (s *Server) answer(ctx *fasthttp.RequestCtx) {
	if uri := string(ctx.RequestURI()); isOurs(uri) {
		s.handler.serve(context.Background(), &fastExchange{ctx, s.watcher})
		return
	}
	defer func() {
		if p := recover(); p != nil {
			s.handler.options.Logger.Error("panic", slog.String("path", string(ctx.RequestURI())), slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			fail(ctx, http.StatusInternalServerError, millrace.Errorf(millrace.ErrInternal, "the request made the server panic"))
		}
	}()
	if who := s.handler.options.Authenticate; who != nil && !slices.Contains(s.open, string(ctx.Path())) {
		x := &fastExchange{ctx, s.watcher}
		if _, err := x.shown().authenticated(ctx, who, auth.Request{Method: "page"}); err != nil {
			fail(ctx, statusOf(err), err)
			ctx.Response.Header.Set("WWW-Authenticate", authenticate)
			return
		}
	}
	switch {
	case s.other == nil:
		fail(ctx, http.StatusNotFound, invalid("Malformed request: there is no such path"))
	case !ctx.IsGet() && !ctx.IsHead():
		fail(ctx, http.StatusMethodNotAllowed, invalid("Malformed request: %s takes GET", millrace.Quote(string(ctx.Path()))))
	default:
		if err := ctx.Request.CloseBodyStream(); err != nil { // the adaptor would read all of it
			fail(ctx, http.StatusBadRequest, invalid("the body: %w", err))
			return
		}
		s.other(ctx)
	}
}

// isOurs reports whether a path belongs to one of the model interfaces.
func isOurs(uri string) bool {
	_, v1 := cutPrefix(uri, "/v1/")
	return v1 || uri == "/v2" || strings.HasPrefix(uri, "/v2/")
}

// refuse answers a request that is not HTTP, or does not arrive in time.
func refuse(ctx *fasthttp.RequestCtx, err error) {
	var long *fasthttp.ErrSmallBuffer
	var network net.Error
	switch {
	case errors.As(err, &long):
		fail(ctx, http.StatusRequestHeaderFieldsTooLarge, invalid("the headers are longer than %d bytes", maxHeader))
	case errors.As(err, &network) && network.Timeout():
		fail(ctx, http.StatusRequestTimeout, invalid("the request did not come in time"))
	default:
		fail(ctx, http.StatusBadRequest, invalid("Malformed request: %w", err))
	}
}

// fail answers with an error.
func fail(ctx *fasthttp.RequestCtx, status int, err error) {
	ctx.Response.Reset()
	ctx.SetStatusCode(status)
	ctx.SetContentType(contentType)
	ctx.SetBody(appendError(nil, err))
}
