package load_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"millrace/internal/tool/load"
)

// serve starts a server and returns options with a request to it for each body.
func serve(t *testing.T, handle http.HandlerFunc, bodies ...string) load.Options {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	o := load.Options{Address: s.Listener.Addr().String(), Connections: 4, Duration: 50 * time.Millisecond}
	for _, body := range bodies {
		o.Requests = append(o.Requests, load.Post(o.Address, "/", []byte(body)))
	}
	return o
}

// run runs a load.
func run(t *testing.T, o load.Options) *load.Result {
	t.Helper()
	r, err := load.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// echo answers a request with its body, and with status 503 if that is "no".
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if err != nil || string(body) == "no" {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	w.Write(body)
}

// A load, closed or open, counts answers by status and passes their bodies on, even if
// they are longer than one read.
func TestRun(t *testing.T) {
	bodies := []string{"short", strings.Repeat("long", 5000), "no"}
	for _, rate := range []float64{0, 2000} {
		o := serve(t, echo, bodies...)
		o.Rate = rate
		o.OnAnswer = func(i, status int, body []byte) {
			if string(body) != bodies[i] || (status == 503) != (bodies[i] == "no") {
				t.Errorf("request %d got %d with %d bytes", i, status, len(body))
			}
		}
		r := run(t, o)
		if r.OK().N == 0 || r.Answers[503].N == 0 || len(r.Answers) != 2 || r.Lost != 0 || r.Throughput() <= 0 {
			t.Errorf("rate %v: %d ok, %d lost, %d unsent", rate, r.OK().N, r.Lost, r.Unsent)
		}
		if p50, p99 := r.OK().Percentile(50), r.OK().Percentile(99); p50 <= 0 || p50 > p99 || p99 > r.OK().Max {
			t.Errorf("p50 %v, p99 %v, maximum %v", p50, p99, r.OK().Max)
		}
	}
}

// A connection that ends without an answer loses its request, and the next one gets
// a new connection.
func TestLost(t *testing.T) {
	var n atomic.Int64
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%3 == 0 {
			panic(http.ErrAbortHandler)
		}
		echo(w, r)
	}, "x")
	if r := run(t, o); r.Lost == 0 || r.OK().N == 0 {
		t.Errorf("%d lost, %d ok", r.Lost, r.OK().N)
	}
}

// A server that closes connections between requests loses none.
func TestReconnect(t *testing.T) {
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		echo(w, r)
	}, "x")
	for _, rate := range []float64{0, 1000} {
		o.Rate = rate
		if r := run(t, o); r.Lost != 0 || r.OK().N < 5 {
			t.Errorf("rate %v: %d lost, %d ok", rate, r.Lost, r.OK().N)
		}
	}
}

// While the server stalls, requests of an open load continue to arrive. Requests
// without a free connection wait, and their wait counts.
func TestStall(t *testing.T) {
	stalled := make(chan struct{})
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-stalled
		echo(w, r)
	}, "x")
	time.AfterFunc(20*time.Millisecond, func() { close(stalled) })
	o.Rate, o.Duration = 1000, 100*time.Millisecond
	r := run(t, o)
	if most := int64(o.Connections); r.Waited == 0 || r.OK().N <= most {
		t.Errorf("%d waited of %d", r.Waited, r.OK().N)
	}
	if r.OK().Max < 10*time.Millisecond {
		t.Errorf("the longest took %v", r.OK().Max)
	}
}

// Requests without an answer count as lost when the grace is over.
func TestGrace(t *testing.T) {
	end := make(chan struct{})
	o := serve(t, func(http.ResponseWriter, *http.Request) { <-end }, "x")
	defer close(end)
	o.Grace = time.Millisecond
	if r := run(t, o); r.Lost != int64(o.Connections) || r.Unsent != 0 || len(r.Answers) != 0 {
		t.Errorf("%d lost, %v", r.Lost, r.Answers)
	}
}

// A port without a listener is an error, and so is a load without requests.
func TestErrors(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(echo))
	s.Close()
	for _, o := range []load.Options{
		{Address: s.Listener.Addr().String(), Requests: [][]byte{nil}},
		{Address: "nowhere", Requests: [][]byte{nil}},
		{Address: s.Listener.Addr().String()},
	} {
		if r, err := load.Run(t.Context(), o); err == nil {
			t.Errorf("%+v: got %+v", o, r)
		}
	}
}

// Percentiles are exact up to the width of a bucket.
func TestHistogram(t *testing.T) {
	var h load.Histogram
	if got := h.Percentile(99); got != 0 {
		t.Errorf("empty: %v", got)
	}
	for i := range 100_000 {
		h.Add(time.Duration(i) * time.Microsecond)
	}
	for _, percent := range []float64{0, 1, 50, 99, 99.9, 100} {
		want := percent / 100 * 99_999 * float64(time.Microsecond)
		if got := float64(h.Percentile(percent)); got < want*0.999 || got > want*1.017+1000 {
			t.Errorf("percentile %v: got %v, want %v", percent, time.Duration(got), time.Duration(want))
		}
	}
	for _, ms := range []int64{-1, 0, 1, 50, 99} {
		want := float64(max(ms, 0)) * 1000
		if got := float64(h.Within(time.Duration(ms) * time.Millisecond)); got > want+1 || got < want*0.983-1 {
			t.Errorf("within %d ms: got %v, want about %v", ms, got, want)
		}
	}
	h.Add(-1)
	h.Add(1 << 62)
	if h.Max != 1<<62 || h.N != 100_002 {
		t.Errorf("maximum %v of %d", h.Max, h.N)
	}
}
