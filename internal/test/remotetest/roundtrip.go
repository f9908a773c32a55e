package remotetest

import (
	"context"
	"io"
	"maps"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// RoundTrip answers a request.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	s.mu.Unlock()
	var f Fault
	if s.Fault != nil {
		f = s.Fault(n, r)
	}
	if f.Hang || f.Delay > 0 {
		if err := wait(r.Context(), f); err != nil {
			return nil, err
		}
	}
	if f.Status != 0 {
		return refusal(r, f), nil
	}
	a, err := s.answer(r, f)
	if f.Lost && err == nil {
		a.Body.Close()
		return nil, syscall.ECONNRESET
	}
	return a, err
}

// answer carries out a request.
func (s *Server) answer(r *http.Request, f Fault) (*http.Response, error) {
	switch {
	case isAzure(r):
		return s.azure(r, f)
	case strings.HasPrefix(r.URL.Path, uploadPath):
		return s.googleUpload(r, f)
	case strings.HasPrefix(r.URL.Path, googlePath):
		return s.google(r, f), nil
	case r.Method == http.MethodPut, r.Method == http.MethodPost, r.Method == http.MethodDelete:
		return s.write(r, f)
	case r.URL.Query().Has("list-type"):
		return s.list(r), nil
	}
	return s.get(r, f), nil
}

func wait(ctx context.Context, f Fault) error {
	var after <-chan time.Time
	if !f.Hang {
		after = time.After(f.Delay)
	}
	select {
	case <-after:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ServeHTTP answers a request that came over a connection. A body that a fault cuts resets
// the connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := s.RoundTrip(r)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), a.Header)
	w.WriteHeader(a.StatusCode)
	if _, err := io.Copy(w, a.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}
