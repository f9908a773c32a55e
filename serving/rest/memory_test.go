package rest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/serving"
	"millrace/serving/budget"
)

// gzipped returns text compressed.
func gzipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// waitEmpty waits until no request takes memory.
func waitEmpty(t *testing.T, b *budget.Budget) {
	t.Helper()
	for end := time.Now().Add(time.Minute); b.InUse() != 0; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%d bytes are in use", b.InUse())
		}
	}
}

// Requests that need more memory than there is are refused: by their header, while they
// inflate, for their tensors, and for their answers. All memory returns.
func TestRequestMemory(t *testing.T) {
	const limit = 1 << 20
	s := serveModels(t, &serving.Options{RequestMemory: limit}, "constant")
	options := Options{Logger: quiet}
	servers := map[string]interface{ Close() }{}
	web := listen(t, s, &ServerOptions{Options: options})
	other := httptest.NewServer(NewHandler(s, &options))
	servers[web.URL], servers[other.URL] = web, other
	list := func(n int) string { return `{"instances": [` + strings.Repeat("1,", n) + `1]}` }
	for at, server := range servers {
		defer server.Close()
		for _, tt := range []struct {
			name, headers string
			body          []byte
			want          string
		}{
			{"sound", "", []byte(list(10)), "200 "},
			{"sound, long", "", []byte(list(6_000)), "200 "},
			{"a claim", "Content-Length: 2000000\r\n", make([]byte, 10_000), "429 the request takes at least 2000000 bytes"},
			{"gzip", "Content-Encoding: gzip\r\n", gzipped(t, strings.Repeat(" ", 10<<20)), "429 the request takes at least "},
			{"tensors", "", []byte(list(200_000)), "429 the request takes at least "},
			{"the answer", "", []byte(list(40_000)), "429 the request takes at least "},
			{"sound again", "", []byte(list(10)), "200 "},
		} {
			if !strings.Contains(tt.headers, "Content-Length") {
				tt.headers += fmt.Sprintf("Content-Length: %d\r\n", len(tt.body))
			}
			status, text := post(t, at, tt.headers, tt.body)
			if got := fmt.Sprint(status.StatusCode, " ", text); !strings.HasPrefix(strings.ReplaceAll(got, `{"error":"`, ""), tt.want) {
				t.Errorf("%s: got %.200s, want %s", tt.name, got, tt.want)
			}
			waitEmpty(t, s.Memory)
		}
	}
	if got := s.Memory.Refused(); got != 8 {
		t.Errorf("%d refusals are counted, want 8", got)
	}
}

// post sends a request for a prediction, and returns the answer and its body.
func post(t *testing.T, at, headers string, body []byte) (*http.Response, string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/models/constant:predict HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%s\r\n", headers)
	if _, err := conn.Write(body); err != nil {
		t.Fatal(err)
	}
	a, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a, string(text)
}

// halfSent opens a connection and sends a part of a request of a megabyte.
func halfSent(t *testing.T, at string, part int) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	head := "POST /v1/models/constant:predict HTTP/1.1\r\nHost: a\r\nContent-Length: 1048575\r\n\r\n"
	if _, err := conn.Write(append([]byte(head), make([]byte, part)...)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// A full server says when to try again, and answers short requests meanwhile.
// Incomplete bodies are dropped when their clients leave, or when their time is over.
func TestRequestMemoryHalfSent(t *testing.T) {
	s := serveModels(t, &serving.Options{RequestMemory: 8 << 20}, "constant")
	// A busy machine may take seconds for the steps of this test, so nobody's time is over before its end.
	patient, hasty := Options{Logger: quiet, Timeout: time.Hour}, Options{Logger: quiet, Timeout: 50 * time.Millisecond}
	ours, oursHasty := listen(t, s, &ServerOptions{Options: patient}), listen(t, s, &ServerOptions{Options: hasty})
	defer ours.Close()
	defer oursHasty.Close()
	other, otherHasty := httptest.NewServer(NewHandler(s, &patient)), httptest.NewServer(NewHandler(s, &hasty))
	defer other.Close()
	defer otherHasty.Close()
	for _, server := range []struct{ patient, hasty string }{{ours.URL, oursHasty.URL}, {other.URL, otherHasty.URL}} {
		var conns []net.Conn
		for range 5 {
			conns = append(conns, halfSent(t, server.patient, 600_000))
		}
		for s.Memory.InUse() < 5<<20 {
			runtime.Gosched()
		}
		if a, text := post(t, server.patient, "Content-Length: 3000000\r\n", make([]byte, 10_000)); a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "1" {
			t.Errorf("one more: %d %v %s", a.StatusCode, a.Header, text)
		}
		const short = `{"instances": [1]}`
		if a, text := post(t, server.patient, fmt.Sprintf("Content-Length: %d\r\n", len(short)), []byte(short)); a.StatusCode != http.StatusOK {
			t.Errorf("a short request: %d %s", a.StatusCode, text)
		}
		for _, c := range conns {
			c.Close()
		}
		waitEmpty(t, s.Memory)
		late := halfSent(t, server.hasty, 1)
		late.SetReadDeadline(time.Now().Add(time.Minute))
		// The server answers, or only ends the connection.
		if _, err := io.Copy(io.Discard, late); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("an incomplete body is not dropped")
		}
		waitEmpty(t, s.Memory)
	}
}

// Answers that clients do not read count until the clients leave.
func TestRequestMemoryAnswers(t *testing.T) {
	s := serveModels(t, &serving.Options{RequestMemory: 512 << 20}, "constant")
	web := listen(t, s, &ServerOptions{Options: Options{Logger: quiet, Timeout: time.Minute}})
	defer web.Close()
	conn, err := net.Dial("tcp", strings.TrimPrefix(web.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"instances": [` + strings.Repeat("1.25e30,", 3_000_000) + `1]}`
	fmt.Fprintf(conn, "POST /v1/models/constant:predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if n := s.Memory.InUse(); n < 16<<20 { // the work on the request is over
		t.Errorf("%d bytes are in use while an answer of 24 MB is sent", n)
	}
	conn.Close()
	waitEmpty(t, s.Memory)
}

// Requests that share features can make large records from short bodies.
func TestRequestMemoryContext(t *testing.T) {
	s := serveModels(t, &serving.Options{RequestMemory: 64 << 20}, "regressor")
	web := listen(t, s, &ServerOptions{Options: Options{Logger: quiet}})
	defer web.Close()
	body := `{"context": {"x": [` + strings.Repeat("1,", 50_000) + `1]}, "examples": [` + strings.Repeat("{},", 50_000) + `{}]}`
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			a, err := http.Post(web.URL+"/v1/models/regressor:regress", "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			a.Body.Close()
			if a.StatusCode != http.StatusTooManyRequests {
				t.Errorf("status %d", a.StatusCode)
			}
		})
	}
	work.Wait()
	waitEmpty(t, s.Memory)
}
