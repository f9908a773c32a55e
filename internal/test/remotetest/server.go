// Package remotetest has a server of objects in memory, with the interfaces of Amazon S3, Google
// Cloud Storage and Azure Blob Storage, and the faults that such servers have. It is an
// http.RoundTripper, so requests reach it without a network, and a test in a bubble of package
// synctest may use it.
package remotetest

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Server holds objects by path, "/bucket/key". Its methods may be called concurrently.
type Server struct {
	mu       sync.Mutex
	objects  map[string][]byte
	sums     map[string][md5.Size]byte // MD5 sums by path
	tags     map[string]string         // ETags of objects that were sent in parts
	uploads  map[string]*upload        // keys are ids
	blocks   map[string][]byte         // Azure's blocks by path and id
	started  int                       // uploads so far
	requests []string
	sent     int64

	// Fault returns what goes wrong with a request, the n-th from 0 on. Nil means nothing.
	Fault func(n int, r *http.Request) Fault
}

// Fault is what goes wrong with one request. The zero value is nothing.
type Fault struct {
	Status      int           // an answer with this status in place of the object
	Code        string        // S3's code of that answer
	Region      string        // the region in that answer
	CutAt       int64         // the connection is reset after this many bytes of the answer, or of what is sent
	Lost        bool          // the request is carried out, and the connection is reset before the answer
	EndAt       int64         // the body ends after this many bytes
	Hang        bool          // there is no answer
	IgnoreRange bool          // the whole object comes in place of a part
	Delay       time.Duration // before the answer
}

// upload is an object that is sent in parts.
type upload struct {
	path  string
	parts map[int][]byte // keys are S3's numbers
	data  []byte         // what Google's session has
	done  bool           // Google's object is complete
}

// NewServer returns a Server without objects.
func NewServer() *Server {
	return &Server{objects: map[string][]byte{}, sums: map[string][md5.Size]byte{}, tags: map[string]string{}, uploads: map[string]*upload{}, blocks: map[string][]byte{}}
}

// Put stores an object.
func (s *Server) Put(path string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[path], s.sums[path] = data, md5.Sum(data)
	delete(s.tags, path)
}

// Object returns the bytes of an object, nil if there is none.
func (s *Server) Object(path string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[path]
}

// Paths returns the sorted paths of the objects.
func (s *Server) Paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

func (s *Server) sum(path string) [md5.Size]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sums[path]
}

// tag returns the ETag of an object.
func (s *Server) tag(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tag := s.tags[path]; tag != "" {
		return `"` + tag + `"`
	}
	return fmt.Sprintf(`"%x"`, s.sums[path])
}

// Requests returns the requests so far, as "GET /bucket/key".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Sent returns the number of bytes of objects that the server has sent.
func (s *Server) Sent() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// answer returns a response with a body.
func answer(r *http.Request, status int, body []byte) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{}, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
	}
}

func refusal(r *http.Request, f Fault) *http.Response {
	type failure struct {
		XMLName               xml.Name `xml:"Error"`
		Code, Message, Region string
	}
	text, _ := xml.Marshal(failure{Code: f.Code, Message: "a message with " + r.Header.Get("Authorization"), Region: f.Region})
	a := answer(r, f.Status, text)
	a.Header.Set("Content-Type", "application/xml")
	return a
}

// get answers GET and HEAD.
func (s *Server) get(r *http.Request, f Fault) *http.Response {
	data := s.Object(r.URL.Path)
	if data == nil {
		return refusal(r, Fault{Status: http.StatusNotFound, Code: "NoSuchKey"})
	}
	tag := s.tag(r.URL.Path)
	if want := r.Header.Get("If-Match"); want != "" && want != tag {
		return refusal(r, Fault{Status: http.StatusPreconditionFailed, Code: "PreconditionFailed"})
	}
	status, size, from := http.StatusOK, len(data), 0
	if span := r.Header.Get("Range"); span != "" && !f.IgnoreRange {
		var to int
		if fmt.Sscanf(span, "bytes=%d-%d", &from, &to); from >= size {
			a := refusal(r, Fault{Status: http.StatusRequestedRangeNotSatisfiable, Code: "InvalidRange"})
			a.Header.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
			return a
		}
		status, data = http.StatusPartialContent, data[from:min(to+1, size)]
	}
	a := answer(r, status, data)
	if status == http.StatusPartialContent {
		a.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+len(data)-1, size))
	}
	a.Header.Set("ETag", tag)
	a.Header.Set("Last-Modified", time.Unix(1700000000, 0).UTC().Format(http.TimeFormat))
	a.Header.Set("Content-Length", strconv.Itoa(len(data)))
	if r.Method == http.MethodHead {
		a.Body = http.NoBody
		return a
	}
	a.Body = &body{s: s, ctx: r.Context(), data: data, fault: f}
	return a
}

// body counts the bytes that are sent, and ends as its fault says.
type body struct {
	s     *Server
	ctx   context.Context
	data  []byte
	at    int64
	fault Fault
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	end := int64(len(b.data))
	err := io.EOF
	if b.fault.EndAt > 0 {
		end = min(end, b.fault.EndAt)
	}
	if c := b.fault.CutAt; c > 0 && c < end {
		end, err = c, syscall.ECONNRESET
	}
	n := copy(p, b.data[b.at:end])
	if n == 0 && len(p) > 0 {
		return 0, err
	}
	b.at += int64(n)
	b.s.mu.Lock()
	b.s.sent += int64(n)
	b.s.mu.Unlock()
	return n, nil
}

func (b *body) Close() error { return nil }

// listed is S3's answer to a list. Two objects make a page.
type listed struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	IsTruncated           bool
	NextContinuationToken string
	Contents              []entry
}

type entry struct {
	Key, ETag, LastModified string
	Size                    int
}

// pageSize is the number of objects in one answer.
const pageSize = 2

func (s *Server) list(r *http.Request) *http.Response {
	bucket := strings.TrimSuffix(r.URL.Path, "/") + "/"
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	var out listed
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		key, ok := strings.CutPrefix(path, bucket)
		if !ok || !strings.HasPrefix(key, q.Get("prefix")) || key <= q.Get("continuation-token") {
			continue
		}
		if len(out.Contents) == pageSize {
			out.IsTruncated, out.NextContinuationToken = true, out.Contents[pageSize-1].Key
			break
		}
		data := s.objects[path]
		out.Contents = append(out.Contents, entry{
			Key: key, Size: len(data), ETag: fmt.Sprintf(`"%x"`, s.sums[path]), LastModified: "2023-11-14T22:13:20.000Z",
		})
	}
	text, _ := xml.Marshal(out)
	a := answer(r, http.StatusOK, text)
	a.Header.Set("Content-Type", "application/xml")
	return a
}
