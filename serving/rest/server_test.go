package rest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"millrace"
	"millrace/internal/test/testruntime"
	"millrace/serving"
	"millrace/tfbridge"
)

// serveModels returns a server of models of testdata, which the test closes.
func serveModels(t testing.TB, o *serving.Options, models ...string) *serving.Server {
	t.Helper()
	testruntime.Need(t)
	var configs []serving.ModelConfig
	for _, name := range models {
		configs = append(configs, serving.ModelConfig{Name: name, BasePath: testdata + name})
	}
	o.FileSystemPollWait, o.Logger = -1, quiet
	s, err := serving.New(context.Background(), configs, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A handler of net/http answers like a Server: with the same status, body, and headers.
func TestHandlerAnswersAlike(t *testing.T) {
	s := serveModels(t, &serving.Options{}, "constant")
	o := Options{Logger: quiet, EnableCORS: true, MaxBodyBytes: 50_000}
	web := listen(t, s, &ServerOptions{Options: o})
	defer web.Close()
	other := httptest.NewServer(NewHandler(s, &o))
	defer other.Close()
	for _, tt := range []struct{ method, path, body string }{
		{"POST", "constant:predict", `{"instances": [1, 2.5]}`},
		{"POST", "constant:predict", `{"instances": [` + strings.Repeat("1,", 20_000) + `1]}`}, // longer than fasthttp reads at once
		{"POST", "constant:predict", `{"instances": [` + strings.Repeat("1,", 40_000) + `1]}`},
		{"POST", "const%61nt:predict?a=b", `{"instances": [1]}`},
		{"POST", "constant:predict", `{`}, {"POST", "a/../constant:predict", `{"instances": [1]}`},
		{"GET", "constant", ""}, {"GET", "constant/metadata", ""}, {"OPTIONS", "constant:predict", ""}, {"DELETE", "constant", ""},
	} {
		var answers [2]string
		for i, at := range []string{web.URL, other.URL} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(at, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "%s /v1/models/%s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\r\n%s", tt.method, tt.path, len(tt.body), tt.body)
			a, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(a.Body)
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
			a.Header.Del("Date")
			answers[i] = fmt.Sprint(a.StatusCode, a.Header, string(text))
		}
		if answers[0] != answers[1] {
			t.Errorf("%s %s with %d bytes:\n fasthttp %.300s\n net/http %.300s", tt.method, tt.path, len(tt.body), answers[0], answers[1])
		}
	}
}

// A request whose client closes the connection ends long before its timeout.
func TestClientGone(t *testing.T) {
	ended := make(chan Request, 1)
	web := start(t, &Options{Timeout: time.Hour, OnRequest: func(r Request) { ended <- r }}, "countdown")
	ctx, leave := context.WithCancel(t.Context())
	time.AfterFunc(watchInterval/2, leave)
	r, err := http.NewRequestWithContext(ctx, "POST", web.URL+"/v1/models/countdown:predict", strings.NewReader(`{"inputs": -1}`))
	if err != nil {
		t.Fatal(err)
	}
	if a, err := web.Client().Do(r); err == nil {
		t.Errorf("a model that never ends answered %s", a.Status)
	}
	if told := <-ended; told.Code == tfbridge.OK {
		t.Errorf("the request ended with %v", told.Code)
	}
}

// Shutdown stops waiting when its time is over: it ends the remaining requests.
func TestShutdownGivesUp(t *testing.T) {
	s := serveModels(t, &serving.Options{}, "countdown")
	begun := make(chan struct{})
	web := NewServer(s, &ServerOptions{
		Options: Options{Logger: quiet, Timeout: time.Hour},
		Other:   http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(begun) }),
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	status := make(chan int, 1)
	go func() {
		a, err := http.Post("http://"+l.Addr().String()+"/v1/models/countdown:predict", "", strings.NewReader(`{"inputs": -1}`))
		if err != nil {
			status <- 0 // the connection was closed first
			return
		}
		a.Body.Close()
		status <- a.StatusCode
	}()
	for waiting := true; waiting; {
		web.watcher.mu.Lock()
		waiting = web.watcher.oldest == nil
		web.watcher.mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := web.Shutdown(ctx); !errors.Is(err, millrace.ErrCanceled) {
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if got := <-status; got == http.StatusOK {
		t.Errorf("a model that never ends answered")
	}
	if err := web.Serve(l); !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("Serve after Shutdown: %v", err)
	}
}

// The other paths may read the requests that they answer, and a panic there ends only
// its request.
func TestOtherPaths(t *testing.T) {
	s := serveModels(t, &serving.Options{}, "constant")
	web := listen(t, s, &ServerOptions{Options: Options{Logger: quiet}, Other: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("on purpose")
		}
		body, err := io.ReadAll(r.Body)
		fmt.Fprint(w, r.URL.Path, len(body) <= maxHeader, err)
	})})
	defer web.Close()
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/page/x", "", 200, "/page/xtrue <nil>"},
		{"GET", "/page/x", strings.Repeat("nobody asked for that", 10_000), 200, "/page/xtrue <nil>"},
		{"POST", "/page/x", "body", 405, `{"error":`},
		{"GET", "/panic", "", 500, `{"error":`},
		{"POST", "/v1/models/constant:predict", `{"inputs": [1]}`, 200, `{"outputs":[3.0]}`},
	} {
		if status, got := ask(t, web, tt.method, tt.path, tt.body); status != tt.status || !strings.HasPrefix(got, tt.want) {
			t.Errorf("%s %s: got %d %s", tt.method, tt.path, status, got)
		}
	}
	bare := listen(t, s, nil)
	defer bare.Close()
	if status, got := ask(t, bare, "GET", "/", ""); status != 404 || !strings.HasPrefix(got, `{"error":`) {
		t.Errorf("without other paths: %d %s", status, got)
	}
}

// A connection may wait for its first request longer than a request for its headers.
func TestLateFirstRequest(t *testing.T) {
	web := NewServer(serveModels(t, &serving.Options{}, "constant"), nil)
	web.web.ReadTimeout = time.Nanosecond
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go web.Serve(l)
	defer web.Shutdown(t.Context())
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /v1/models/constant HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	a, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if a.StatusCode != http.StatusOK {
		t.Errorf("the first request got status %d", a.StatusCode)
	}
}

// A connection without a first byte ends like one that its client closed; a request
// that has begun must continue in time.
func TestFirstByte(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, tt := range []struct {
		sent         string
		idle, header time.Duration
		want         []error
	}{
		{"", time.Nanosecond, time.Hour, []error{io.EOF}},
		{"G", time.Hour, time.Nanosecond, []error{nil, os.ErrDeadlineExceeded}},
	} {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		io.WriteString(client, tt.sent)
		conn, err := patientListener{l, tt.idle, tt.header}.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetReadDeadline(time.Now())
		for i, want := range tt.want {
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, want) {
				t.Errorf("%q, read %d: got error %v, want %v", tt.sent, i, err, want)
			}
		}
	}
}

// A request that is not HTTP gets an answer that says so.
func TestNoRequest(t *testing.T) {
	web := start(t, nil, "constant")
	for _, tt := range []struct {
		text   string
		status int
	}{
		{"hello\r\n\r\n", 400},
		{"GET /v1/models/constant HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 2*maxHeader) + "\r\n\r\n", 431},
		{"POST /v1/models/constant:predict HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
		{"POST /v1/models/constant:predict HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n{}", 400},
	} {
		conn, err := net.Dial("tcp", web.address)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, tt.text)
		a, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || a.StatusCode != tt.status {
			t.Errorf("%.40q: got %v, %v, want %d", tt.text, a, err, tt.status)
		} else if text, err := io.ReadAll(a.Body); err != nil || !bytes.HasPrefix(text, []byte(`{"error":`)) {
			t.Errorf("%.40q: got %s, %v", tt.text, text, err)
		}
		conn.Close()
	}
}

// FuzzConnection sends bytes of any kind. The connection ends, and the server
// continues.
func FuzzConnection(f *testing.F) {
	s := serveModels(f, &serving.Options{}, "constant")
	web := listen(f, s, &ServerOptions{Options: Options{Logger: quiet, MaxBodyBytes: 1 << 16}, Other: http.NotFoundHandler()})
	f.Cleanup(web.Close)
	body := `{"instances": [1, 2.5]}`
	for _, text := range []string{
		fmt.Sprintf("POST /v1/models/constant:predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body),
		"POST /v1/models/constant:predict HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nGET / HTTP/1.0\r\n\r\n",
		"GET /v1/models/constant HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\n\r\n", "GET http://a/v1/ HTTP/1.1\r\nHost:\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		conn, err := net.Dial("tcp", web.address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(slowest))
		go func() {
			conn.Write(text)
			conn.(*net.TCPConn).CloseWrite()
		}()
		var network net.Error
		if _, err := io.Copy(io.Discard, conn); errors.As(err, &network) && network.Timeout() {
			t.Errorf("%q: the connection goes on", text)
		}
		if status, got := ask(t, web, "GET", "/v1/models/constant", ""); status != 200 {
			t.Errorf("%q: afterwards %d %s", text, status, got)
		}
	})
}

// The answer to an overload is cached for the same error only.
func TestFailuresKept(t *testing.T) {
	h := newHandler(nil, nil)
	full := millrace.Errorf(millrace.ErrOverloaded, "64 rows wait")
	for _, tt := range []struct {
		err    error
		status int
		body   string
	}{
		{full, 503, "64 rows wait"}, {full, 503, "64 rows wait"}, {millrace.Errorf(millrace.ErrOverloaded, "63 rows wait"), 503, "63 rows wait"},
		{millrace.Errorf(millrace.ErrModel, "no"), 400, "no"}, {full, 503, "64 rows wait"},
	} {
		if got := h.failureOf(tt.err); got.status != tt.status || string(got.body) != `{"error":"`+tt.body+"\"}\n" || got.code != serving.CodeOf(tt.err) {
			t.Errorf("%v: got %+v, %s", tt.err, got, got.body)
		}
	}
}

// A panic while a request is answered is that request's error, and goes to the log with
// its path and its stack.
func TestPanicIsLogged(t *testing.T) {
	var log bytes.Buffer
	h := NewHandler(nil, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}) // no server: a nil dereference
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/models/m:predict", strings.NewReader("{}")))
	if w.Code != 500 || !strings.Contains(w.Body.String(), "the request made the server panic") {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	for _, want := range []string{"level=ERROR msg=panic", "path=/v1/models/m:predict", "nil pointer dereference", "dispatch.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &log)
		}
	}
}

// Requests that run a model wait for a thread; those that describe one do not. A body may have
// as many bytes as the limit says.
func TestThreadsAndBodies(t *testing.T) {
	testruntime.Need(t)
	s, err := serving.New(t.Context(), []serving.ModelConfig{{Name: "constant", BasePath: testdata + "constant"}}, &serving.Options{FileSystemPollWait: -1, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := newHandler(s, &Options{Logger: quiet, NumThreads: 1, MaxBodyBytes: 2})
	ask := func(ctx context.Context, method, path, body string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, "/v1/models/constant"+path, strings.NewReader(body)).WithContext(ctx))
		return w.Code, w.Body.String()
	}
	const refused = "the body of 3 bytes"
	if _, got := ask(t.Context(), "POST", ":predict", "{}"); strings.Contains(got, "the body of") {
		t.Errorf("a body of 2 bytes: %s", got)
	}
	if code, got := ask(t.Context(), "POST", ":predict", "{ }"); code < 400 || !strings.Contains(got, refused) {
		t.Errorf("got %d %s, want %q", code, got, refused)
	}
	if err := h.threads.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer h.threads.Release()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if code, got := ask(gone, "GET", "", ""); code != 200 {
		t.Errorf("without a free thread the status is %d %s", code, got)
	}
	if code, got := ask(gone, "POST", ":predict", "{}"); code < 499 {
		t.Errorf("without a free thread a prediction is %d %s", code, got)
	}
}
