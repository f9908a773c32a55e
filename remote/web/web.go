// Package web reads files from web servers, by http and https.
//
//	remote.Register("https", web.New(nil))
package web

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"time"

	"millrace/remote"
)

// Options are the options of New. Nil and the zero value mean the defaults.
type Options struct {
	// Transport carries out the requests. Nil means one like http.DefaultTransport, which
	// uses the proxies of the environment, for many connections to one host.
	Transport http.RoundTripper
}

// Store is a [remote.Store] of the schemes http and https.
type Store struct{ client *http.Client }

// New returns a Store.
func New(o *Options) *Store {
	s := &Store{client: &http.Client{Transport: NewTransport()}}
	if o != nil && o.Transport != nil {
		s.client.Transport = o.Transport
	}
	return s
}

// NewTransport returns a transport for many requests to the same host. It leaves bytes as
// the server has stored them.
func NewTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 256, 64
	t.ReadBufferSize = 64 << 10
	return t
}

// Stat requests the first byte: a URL that is signed for GET does not allow HEAD.
func (s *Store) Stat(ctx context.Context, url string) (remote.Info, error) {
	b, err := s.Open(ctx, url, remote.Range{Bytes: 1})
	if err != nil {
		return remote.Info{}, err
	}
	b.Close()
	return b.Info, nil
}

// Open requests a range.
func (s *Store) Open(ctx context.Context, url string, r remote.Range) (*remote.Body, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, &remote.Failure{Msg: "not a URL", Err: fs.ErrInvalid}
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", r.From, r.From+r.Bytes-1))
	if strings.HasPrefix(r.Version, `"`) {
		req.Header.Set("If-Match", r.Version)
	}
	answer, err := s.client.Do(req)
	if err != nil {
		return nil, explain(err)
	}
	b, err := body(answer, r)
	if err != nil {
		answer.Body.Close()
	}
	return b, err
}

// explain returns the error of a connection, with advice where repeating does not help.
func explain(err error) error {
	if strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return &remote.Failure{Msg: "the server speaks http, not https", Advice: "write http:// in place of https://", Err: fs.ErrInvalid}
	}
	return err
}

// body checks the head of an answer.
func body(a *http.Response, r remote.Range) (*remote.Body, error) {
	b := &remote.Body{ReadCloser: a.Body, Info: remote.Info{Size: a.ContentLength, Version: version(a.Header)}}
	b.ModTime, _ = http.ParseTime(a.Header.Get("Last-Modified"))
	switch a.StatusCode {
	case http.StatusOK:
	case http.StatusPartialContent:
		from, size, ok := ParseContentRange(a.Header.Get("Content-Range"))
		if !ok {
			return nil, &remote.Failure{Msg: "the server's Content-Range is missing or wrong", Retry: true}
		}
		b.Offset, b.Size = from, size
	case http.StatusRequestedRangeNotSatisfiable:
		if _, size, ok := ParseContentRange(a.Header.Get("Content-Range")); !ok || size > r.From {
			return nil, Refused(a.StatusCode, a.Header)
		} else if r.Version == "" || size == r.From {
			b.Size, b.Offset, b.ReadCloser = size, r.From, nothing{a.Body}
		}
	default:
		return nil, Refused(a.StatusCode, a.Header)
	}
	if b.Size < 0 {
		return nil, &remote.Failure{Msg: "the server does not say how large the file is", Advice: "copy it to a disk of this machine"}
	}
	return b, nil
}

// nothing is the body of an empty file.
type nothing struct{ io.Closer }

func (nothing) Read([]byte) (int, error) { return 0, io.EOF }

// version returns what identifies the contents: a strong ETag, or what the server has in
// its place.
func version(h http.Header) string {
	if tag := h.Get("ETag"); tag != "" {
		return tag
	}
	return h.Get("Last-Modified")
}

// ParseContentRange returns the first offset and the size of "bytes 0-99/1000" and of
// "bytes */1000".
func ParseContentRange(text string) (from, size int64, ok bool) {
	text, ok = strings.CutPrefix(text, "bytes ")
	span, total, slash := strings.Cut(text, "/")
	size, err := strconv.ParseInt(total, 10, 64)
	if !ok || !slash || err != nil || size < 0 {
		return 0, 0, false
	}
	if span == "*" {
		return 0, size, true
	}
	first, _, dash := strings.Cut(span, "-")
	from, err = strconv.ParseInt(first, 10, 64)
	return from, size, dash && err == nil && from >= 0
}

// Refused returns the error of an answer with a status.
func Refused(status int, h http.Header) *remote.Failure {
	f := &remote.Failure{Msg: strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))}
	switch {
	case status == http.StatusNotFound || status == http.StatusGone:
		f.Err, f.Advice = fs.ErrNotExist, "there is no such file"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f.Err, f.Advice = fs.ErrPermission, "the server wants other credentials; a signed URL may have expired"
	case status == http.StatusPreconditionFailed:
		f.Err, f.Msg = remote.ErrChanged, remote.ErrChanged.Error()
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500:
		f.Retry, f.After = true, retryAfter(h)
	}
	return f
}

// retryAfter returns how long the server asks to wait.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return time.Until(at)
	}
	return 0
}
