package service_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"millrace"
	"millrace/loaders/service"
)

// fake returns the address of a server that speaks HTTP/2 without encryption.
func fake(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: handler, Protocols: &http.Protocols{}}
	s.Protocols.SetUnencryptedHTTP2(true)
	go s.Serve(l) //nolint:errcheck // Close ends it
	t.Cleanup(func() { s.Close() })
	return l.Addr().String()
}

// answering returns a handler that answers with the bytes of a body and a status.
func answering(body, status string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status")
		w.Write([]byte(body)) //nolint:errcheck // the client's error is tested
		w.Header().Set("Grpc-Status", status)
	}
}

// Answers are read, and answers of other servers are errors with the address.
func TestWorkers(t *testing.T) {
	good := fake(t, answering("\x00\x00\x00\x00\x0a"+"\x0a\x03\x0a\x01a\x0a\x03\x0a\x01b", "0"))
	workers, err := service.Workers(t.Context(), good)
	if err != nil || strings.Join(workers, " ") != "a b" {
		t.Errorf("%q, %v", workers, err)
	}
	tasks, err := service.Tasks(t.Context(), fake(t, answering("\x00\x00\x00\x00\x06"+"\x0a\x04\x10\x07\x18\x09", "0")))
	if err != nil || len(tasks) != 1 || tasks[0] != (service.Task{ID: 7, Iteration: 9}) {
		t.Errorf("%v, %v", tasks, err)
	}
	for want, handler := range map[string]http.HandlerFunc{
		"is not one of a data service": answering("", "12"),
		"status 5: ":                   answering("", "5"),
		"not a server of gRPC":         answering("hello", ""),
		"the answer is damaged":        answering("\x00\x00\x00\x00\x09abc", "0"),
		"answer is damaged":            answering("\x00\x00\x00\x00\x03\x0a\x09a", "0"),
	} {
		at := fake(t, handler)
		if _, err := service.Workers(t.Context(), at); !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), at) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A dispatcher of another version, or without workers, is an error before a job exists.
func TestCheck(t *testing.T) {
	version := "\x09"
	at := fake(t, func(w http.ResponseWriter, q *http.Request) {
		body := "\x00\x00\x00\x00\x00"
		if strings.HasSuffix(q.URL.Path, "GetVersion") {
			body = "\x00\x00\x00\x00\x02\x08" + version
		}
		answering(body, "0")(w, q)
	})
	if _, err := service.Check(t.Context(), at); !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), "has no workers") {
		t.Error(err)
	}
	version = "\x08"
	if _, err := service.Check(t.Context(), at); !errors.Is(err, millrace.ErrRuntime) || !strings.Contains(err.Error(), "its protocol has version 8") {
		t.Error(err)
	}
}

// A server that accepts and never answers does not hold a call longer than its context.
func TestSilentServer(t *testing.T) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		c, err := l.Accept()
		if err == nil {
			defer c.Close()
		}
		cancel(errors.New("enough"))
		<-ctx.Done()
	}()
	if _, err := service.Workers(ctx, l.Addr().String()); !errors.Is(err, millrace.ErrIO) || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
}
