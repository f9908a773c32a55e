package rest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"millrace/graph"
	"millrace/internal/test/soak"
	"millrace/internal/test/testruntime"
	"millrace/internal/tool/load"
	"millrace/serving"
	"millrace/serving/batching"
)

// overloadedEnv makes the test process run TestOverloadedServer as the server of
// TestLongOverload.
const overloadedEnv = "MILLRACE_TEST_OVERLOADED"

// Connections of the saturating load: as many as rows may wait, so that none is
// refused. Connections of the overload: so many that a request hardly ever waits for
// one.
const saturatingConnections, overloadConnections = 64, 4096

// settled is how long a load must last for its first quarter to settle the memory: the
// threads that run the model get their own malloc caches, the last ones after a minute.
const settled = 5 * time.Minute

// overloadedOptions are the options of a server with a short queue.
func overloadedOptions() *serving.Options {
	return &serving.Options{FileSystemPollWait: -1, Batching: &batching.Options{MaxBatchSize: 16, MaxEnqueuedBatches: 4}}
}

// "make soak" keeps a server at 1.5 times its saturation load for ten minutes, as an
// open load. No request is lost, memory stays flat, the server refuses the surplus
// within 10 ms, and after a second it is as before. The server is a process with its
// own processors. Where it shares them, the generator's threads delay it for longer
// than that, and the times are only logged.
//
// The server's time for a refusal is from the first byte that it has read to the last
// that it has written. The client's begins when the request should have arrived. A
// server whose processors are all busy reads some requests late, so the test checks the
// median of the clients' times.
func TestLongOverload(t *testing.T) {
	if !soak.Long() {
		t.Skip("takes minutes: make soak")
	}
	testruntime.Need(t)
	address, process, apart := startOverloaded(t)
	o := digitsLoad(address)
	o.Warm, o.Duration, o.Connections = time.Second, 5*time.Second, saturatingConnections
	saturation := measured(t.Context(), t, o).Throughput()
	half := digitsLoad(address)
	half.Warm, half.Duration, half.Connections, half.Rate = time.Second, 5*time.Second, overloadConnections, saturation/2
	before := measured(t.Context(), t, half)
	long := soak.Duration(10 * time.Minute)
	o.Rate, o.Connections, o.Duration = 1.5*saturation, overloadConnections, long/4
	measured(t.Context(), t, o) // until the heap has its size
	ownTimes(t, address)
	early := resident(t, process)
	o.Duration = long - o.Duration
	r := measured(t.Context(), t, o)
	refused := r.Answers[http.StatusServiceUnavailable]
	if refused == nil {
		t.Fatalf("no request of %d was refused at 1.5 times %.0f requests/s", r.OK().N, saturation)
	}
	own := ownTimes(t, address)
	late := resident(t, process)
	t.Logf("saturation %.0f requests/s; at 1.5 times that %.0f answered in %v (p99), %.0f refused in %v (p50) and %v (p99), in the server itself %v and %v; %d waited for a connection; %d MB, then %d MB; the generator took %.0f%% of a processor",
		saturation, r.Throughput(), r.OK().Percentile(99), float64(refused.N)/r.Seconds, refused.Percentile(50), refused.Percentile(99), own.P50, own.P99, r.Waited, early>>20, late>>20, 100*r.Processor.Seconds()/r.Seconds)
	if apart && (own.P99 > 10*time.Millisecond || refused.Percentile(50) > 10*time.Millisecond) {
		t.Errorf("the server took %v (p99) for a refusal, and half of the clients waited %v, want 10 ms", own.P99, refused.Percentile(50))
	}
	if long >= settled && late > early+early/10 {
		t.Errorf("memory grew from %d to %d MB", early>>20, late>>20)
	}
	after := measured(t.Context(), t, half)
	t.Logf("at half the saturation load %.1f%% were answered in %v (p99) before, and %.1f%% in %v a second after",
		answered(before), before.OK().Percentile(99), answered(after), after.OK().Percentile(99))
	if answered(after) < answered(before)-1 || after.OK().Percentile(99) > 100*time.Millisecond {
		t.Error("the server has not recovered")
	}
}

// answered returns how many of a hundred requests were answered with a result.
func answered(r *load.Result) float64 {
	var all int64
	for _, a := range r.Answers {
		all += a.N
	}
	return 100 * float64(r.OK().N) / float64(all)
}

// startOverloaded starts TestOverloadedServer, and returns its address and process. It
// reports whether the server has its own processors.
func startOverloaded(t *testing.T) (address string, process int, apart bool) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestOverloadedServer$", "-test.timeout=0")
	c.Env = append(os.Environ(), overloadedEnv+"=1")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	apart = startApart(t, c)
	t.Cleanup(func() {
		in.Close() // ends it
		rest, _ := io.ReadAll(out)
		if err := c.Wait(); err != nil {
			t.Errorf("the server: %v\n%s", err, rest)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listens on ")
	if !ok {
		t.Fatalf("the server says %q, %v", line, err)
	}
	return address, c.Process.Pid, apart
}

// TestOverloadedServer is the server of TestLongOverload, until its standard input ends.
func TestOverloadedServer(t *testing.T) {
	if os.Getenv(overloadedEnv) == "" {
		t.Skip("the server of TestLongOverload")
	}
	testruntime.Need(t)
	o := overloadedOptions()
	o.Logger, o.Model = quiet, &graph.ModelOptions{Inline: true}
	s, err := serving.New(t.Context(), []serving.ModelConfig{{Name: "m", BasePath: digitsModel}}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))) // as the command serve does
	ballast := make([]byte, 128<<20)
	defer runtime.KeepAlive(ballast)
	timed := &refusals{begun: map[net.Conn]time.Time{}}
	web := NewServer(s, &ServerOptions{Options: Options{Logger: quiet}, Other: timed})
	timed.measure(web)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("listens on %s\n", l.Addr())
	go web.Serve(l)
	io.Copy(io.Discard, os.Stdin)
}

// refusals measures how long a server takes for its refusals. It is also the handler
// that returns the times, and then starts again.
type refusals struct {
	mu    sync.Mutex // guards the fields below
	begun map[net.Conn]time.Time
	times load.Histogram
}

// ownTime is how long refusals take.
type ownTime struct{ P50, P99 time.Duration }

// measure makes a server that does not serve yet report its requests.
func (r *refusals) measure(web *Server) {
	answer, note := web.web.Handler, web.web.ConnState
	web.web.Handler = func(ctx *fasthttp.RequestCtx) {
		answer(ctx)
		if ctx.Response.StatusCode() != http.StatusServiceUnavailable {
			r.mu.Lock()
			delete(r.begun, ctx.Conn())
			r.mu.Unlock()
		}
	}
	web.web.ConnState = func(c net.Conn, state fasthttp.ConnState) {
		note(c, state)
		r.note(c, state)
	}
}

// note records that a first byte was read, or that everything was written.
func (r *refusals) note(c net.Conn, state fasthttp.ConnState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	begun, ok := r.begun[c]
	delete(r.begun, c)
	switch {
	case state == fasthttp.StateActive:
		r.begun[c] = time.Now()
	case state == fasthttp.StateIdle && ok:
		r.times.Add(time.Since(begun))
	}
}

func (r *refusals) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	json.NewEncoder(w).Encode(ownTime{r.times.Percentile(50), r.times.Percentile(99)})
	r.times = load.Histogram{}
}

// ownTimes requests the times of refusals from a server.
func ownTimes(t *testing.T, address string) (times ownTime) {
	t.Helper()
	a, err := http.Get("http://" + address + "/refusals")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if err := json.NewDecoder(a.Body).Decode(&times); err != nil {
		t.Fatal(err)
	}
	return times
}

// resident returns the memory of a process.
func resident(t *testing.T, process int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", process))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
