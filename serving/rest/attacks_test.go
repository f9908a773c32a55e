package rest

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/internal/test/identity"
	"millrace/serving"
)

// besideSound attacks the server while another client sends normal requests, each of
// which must be answered.
func besideSound(t *testing.T, web *endpoint, attack func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var sound sync.WaitGroup
	sound.Go(func() {
		for n := 0; ctx.Err() == nil || n == 0; n++ {
			if status, got := ask(t, web, "POST", "/v1/models/constant:predict", `{"instances": [1]}`); status != 200 {
				t.Errorf("a sound request: %d %s", status, got)
				return
			}
		}
	})
	attack()
	stop()
	sound.Wait()
	if status, got := ask(t, web, "POST", "/v1/models/constant:predict", `{"instances": [1]}`); status != 200 {
		t.Errorf("a sound request afterwards: %d %s", status, got)
	}
}

// dialRaw opens a connection that ends with the test.
func dialRaw(t *testing.T, web *endpoint) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", web.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Clients that send one byte of their headers, or of a short body, from time to time
// are disconnected, on the first request of a connection and on later ones.
func TestSlowHeaders(t *testing.T) {
	const limit = 200 * time.Millisecond
	s := serveModels(t, &serving.Options{}, "constant")
	web := listenAs(t, s, &ServerOptions{Options: Options{Logger: quiet}}, func(w *Server) { w.headers, w.web.ReadTimeout = limit, limit })
	defer web.Close()
	const before = "GET /v1/models/constant HTTP/1.1\r\nHost: a\r\n\r\n"
	besideSound(t, web, func() {
		var slow sync.WaitGroup
		for i, begin := range []string{
			"GET /v1/models/const", "GET /v1/models/constant HTTP/1.1\r\nX: ", before + "GET /v1/models/constant HTTP/1.1\r\nX: ",
			"POST /v1/models/constant:predict HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\n", // less than shortBody
		} {
			for range 10 {
				slow.Go(func() {
					conn, err := net.Dial("tcp", web.address)
					if err != nil {
						t.Error(err)
						return
					}
					defer conn.Close()
					conn.SetReadDeadline(time.Now().Add(slowest))
					io.WriteString(conn, begin)
					go func() {
						for tick := time.NewTicker(limit / 10); ; {
							if _, err := conn.Write([]byte("x")); err != nil {
								tick.Stop()
								return
							}
							<-tick.C
						}
					}()
					if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("%d: the connection stays open", i)
					}
				})
			}
		}
		slow.Wait() // they end when the server cuts them off
	})
}

// flood writes a text repeatedly until the connection breaks, and returns how much it
// wrote. It stops at most.
func flood(conn net.Conn, text string, most int) (written int) {
	text = strings.Repeat(text, max(1, (64<<10)/len(text)))
	for written < most {
		n, err := io.WriteString(conn, text)
		if written += n; err != nil {
			break
		}
	}
	return written
}

// Endless headers, chunk sizes and trailers break the connection after some kilobytes,
// in addition to what the system buffers.
func TestEndlessHeaders(t *testing.T) {
	web := start(t, &Options{MaxBodyBytes: 1 << 20}, "constant")
	const post = "POST /v1/models/constant:predict HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
	besideSound(t, web, func() {
		for name, tt := range map[string]struct{ begin, again string }{
			"one header":      {"GET / HTTP/1.1\r\nX: ", "x"},
			"many headers":    {"GET / HTTP/1.1\r\n", "X: x\r\n"},
			"empty lines":     {"", "\r\n"},
			"the path":        {"GET /", "x"},
			"a chunk's size":  {post + "\r\n", "0"},
			"trailers":        {post + "\r\n0\r\n", "X: x\r\n"},
			"chunks":          {post + "\r\n", "1\r\n[\r\n"},
			"chunks of space": {post + "\r\n", "1\r\n \r\n"},
		} {
			conn := dialRaw(t, web)
			go io.Copy(io.Discard, conn)
			io.WriteString(conn, tt.begin)
			if n := flood(conn, tt.again, 64<<20); n >= 64<<20 {
				t.Errorf("%s: %d bytes were taken", name, n)
			}
		}
	})
}

// Pipelined requests are answered in their order, and a client that does not read its
// answers is disconnected.
func TestPipelining(t *testing.T) {
	s := serveModels(t, &serving.Options{}, "constant")
	web := listenAs(t, s, &ServerOptions{Options: Options{Logger: quiet}}, func(w *Server) { w.web.WriteTimeout = 200 * time.Millisecond })
	defer web.Close()
	request := func(i int) string {
		body := fmt.Sprintf(`{"instances": [%d]}`, i)
		return fmt.Sprintf("POST /v1/models/constant:predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	besideSound(t, web, func() {
		conn := dialRaw(t, web)
		const n = 1000
		go func() {
			w := bufio.NewWriter(conn)
			for i := range n {
				io.WriteString(w, request(i))
			}
			w.Flush()
		}()
		answers := bufio.NewReader(conn)
		for i := range n {
			a, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatalf("answer %d: %v", i, err)
			}
			text, err := io.ReadAll(a.Body)
			if want := fmt.Sprintf(`{"predictions":[%.1f]}`, float64(2*i+1)); err != nil || strings.TrimSpace(string(text)) != want {
				t.Fatalf("answer %d is %s, want %s", i, text, want)
			}
		}
		deaf := dialRaw(t, web)
		many := `{"instances": [1` + strings.Repeat(",1", 5000) + `]}`
		again := fmt.Sprintf("POST /v1/models/constant:predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", len(many), many)
		if n := flood(deaf, again, 256<<20); n >= 256<<20 {
			t.Errorf("a client that takes no answers sent %d bytes", n)
		}
	})
}

// Deeply nested bodies are refused everywhere, because each level would take stack.
func TestDeepBodies(t *testing.T) {
	web := start(t, nil, "constant", "examples")
	const levels = 1_000_000
	deep := regexp.MustCompile(`nest deeper than 300|exceeded max depth`)
	besideSound(t, web, func() {
		for name, tt := range map[string]struct{ path, begin string }{
			"inputs":            {"/v1/models/constant:predict", `{"inputs": `},
			"instances":         {"/v1/models/constant:predict", `{"instances": [`},
			"a key of no known": {"/v1/models/constant:predict", `{"other": `},
			"examples":          {"/v1/models/examples:classify", `{"examples": [`},
			"a feature":         {"/v1/models/examples:classify", `{"examples": [{"x": `},
			"v2: data":          {"/v2/models/constant/infer", `{"inputs": [{"name": "x", "shape": [1], "datatype": "FP32", "data": `},
			"v2: parameters":    {"/v2/models/constant/infer", `{"parameters": {"a": `},
			"v2: another key":   {"/v2/models/constant/infer", `{"other": `},
		} {
			for _, open := range []string{"[", `{"a":`} {
				if status, got := ask(t, web, "POST", tt.path, tt.begin+strings.Repeat(open, levels)); status != 400 || !deep.MatchString(got) || !strings.Contains(got, `"error"`) {
					t.Errorf("%s, %s: %d %.200s", name, open, status, got)
				}
			}
		}
	})
}

// A model name that looks like the path of a file is unknown.
func TestPathsAreNames(t *testing.T) {
	web := start(t, nil, "constant")
	for _, path := range []string{
		"/v1/models/../../../../etc/passwd", "/v1/models/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/v1/models/..%2fconstant", "/v1/models/constant/versions/../1",
		"/v1/models/constant/versions/..%2f1", "/v1/models//etc/passwd", "/v1/models/%00", "/v1/models/constant%00", "/v1/models/constant/labels/..%2f..%2fetc",
		"/v1/models/.", "/v1/models/..", "/v1/../v1/models/constant%2f1", "/v2/models/..%2f..%2fetc%2fpasswd", "/v2/models/constant/versions/..%2f1",
		`/v1/models/..\..\etc`, "/v1/models/file:%2f%2f%2fetc%2fpasswd", "/../../etc/passwd", "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
	} {
		conn := dialRaw(t, web)
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", path)
		a, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		if a.StatusCode != 404 && a.StatusCode != 400 || strings.Contains(string(text), "root:") {
			t.Errorf("%s: %d %s", path, a.StatusCode, text)
		}
	}
}

// A request that two servers could read differently is refused, and ends its
// connection, so the bytes after it are not read as a request.
func TestAmbiguousLength(t *testing.T) {
	web := start(t, nil, "constant")
	const hidden = "GET /v1/models/constant HTTP/1.1\r\nHost: a\r\n\r\n"
	for name, headers := range map[string]string{
		"length and chunks":       "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
		"chunks and length":       "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
		"two lengths":             "Content-Length: 5\r\nContent-Length: 6\r\n",
		"a list of lengths":       "Content-Length: 5, 6\r\n",
		"a length with a sign":    "Content-Length: +5\r\n",
		"a negative length":       "Content-Length: -5\r\n",
		"another encoding":        "Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
		"chunks twice":            "Transfer-Encoding: chunked, chunked\r\n",
		"an encoding after":       "Transfer-Encoding: chunked, gzip\r\n",
		"a space before a colon":  "Content-Length : 5\r\n",
		"a length of many digits": "Content-Length: 99999999999999999999999\r\n",
	} {
		conn := dialRaw(t, web)
		io.WriteString(conn, "POST /v1/models/constant:predict HTTP/1.1\r\nHost: a\r\n"+headers+"\r\n0\r\n\r\n"+hidden)
		conn.(*net.TCPConn).CloseWrite()
		answers, codes := bufio.NewReader(conn), []int{}
		for {
			a, err := http.ReadResponse(answers, nil)
			if err != nil {
				break
			}
			io.Copy(io.Discard, a.Body)
			codes = append(codes, a.StatusCode)
		}
		if len(codes) != 1 || codes[0] != 400 {
			t.Errorf("%s: %v", name, codes)
		}
	}
}

// Handshakes of TLS that stall, break off or are invalid end; another client is
// answered meanwhile.
func TestStalledHandshakes(t *testing.T) {
	me := identity.New(t)
	s := serveModels(t, &serving.Options{}, "constant")
	o := &ServerOptions{Options: Options{Logger: quiet}, TLS: &tls.Config{Certificates: []tls.Certificate{me.TLS}, ClientCAs: me.Pool, ClientAuth: tls.RequireAndVerifyClientCert}}
	web := listenAs(t, s, o, func(w *Server) { w.web.ReadTimeout, w.headers = time.Second/2, time.Second/2 })
	defer web.Close()
	web.URL = "https://" + web.address
	trusted := &tls.Config{RootCAs: me.Pool, ServerName: "localhost", Certificates: []tls.Certificate{me.TLS}}
	web.client.Transport = &http.Transport{DisableKeepAlives: true, TLSClientConfig: trusted}
	besideSound(t, web, func() { identity.Stall(t, web.address) })
}
