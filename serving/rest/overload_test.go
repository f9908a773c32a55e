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
	"millrace/internal/load"
	"millrace/internal/test/soak"
	"millrace/internal/test/testruntime"
	"millrace/serving"
	"millrace/serving/batching"
)

// overloadedEnv makes TestOverloadedServer the server of TestLongOverload.
const overloadedEnv = "MILLRACE_TEST_OVERLOADED"

// Connections of the load that saturates, as many as rows may wait, so that none is refused; and of
// the overload, so many that a request hardly ever waits for one.
const saturatingConnections, overloadConnections = 64, 4096

// settled is how long a load must be for its first quarter to settle the memory: the threads
// that run the model get caches of malloc of their own, the last ones after a minute.
const settled = 5 * time.Minute

// enoughProcessors is how many leave the server some of its own.
const enoughProcessors = 4

// overloadedOptions are those of a server whose queue is short.
func overloadedOptions() *serving.Options {
	return &serving.Options{FileSystemPollWait: -1, Batching: &batching.Options{MaxBatchSize: 16, MaxEnqueuedBatches: 4}}
}

// "make soak" keeps a server at 1.5 times its saturation load for ten minutes, as an open
// load. No request is lost, memory stays flat, the server refuses what is too much within
// 10 ms, and after a second it has recovered. The server is a process of its own: in
// one process it would share Go's scheduler with the load generator, and delay it.
//
// The server's own time for a refusal goes from the first byte that it has read until the last that it has
// written. What the client sees is more, where both share processors. With fewer than
// enoughProcessors the times are told, not judged: the threads of model, server and
// generator then take each other's place for as long.
func TestLongOverload(t *testing.T) {
	if !soak.Long() {
		t.Skip("takes minutes: make soak")
	}
	testruntime.Need(t)
	address, process := startOverloaded(t)
	o := digitsLoad(address)
	o.Warm, o.Duration, o.Connections = time.Second, 5*time.Second, saturatingConnections
	saturation := measured(t.Context(), t, o).Throughput()
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
	if runtime.NumCPU() >= enoughProcessors && own.P99 > 10*time.Millisecond {
		t.Errorf("the server took %v (p99) for a refusal, want 10 ms", own.P99)
	}
	if long >= settled && late > early+early/10 {
		t.Errorf("memory grew from %d to %d MB", early>>20, late>>20)
	}
	o.Warm, o.Duration, o.Rate = time.Second, time.Second, saturation/2
	r = measured(t.Context(), t, o)
	if n := r.OK().N; float64(n) < 0.99*o.Rate*r.Seconds || r.OK().Percentile(99) > 100*time.Millisecond {
		t.Errorf("a second later, at half the saturation load: %d of %.0f requests answered, p99 %v", n, o.Rate*r.Seconds, r.OK().Percentile(99))
	}
}

// startOverloaded starts TestOverloadedServer, and returns its address and process.
func startOverloaded(t *testing.T) (address string, process int) {
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
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
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
	return address, c.Process.Pid
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
	runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0)) // as the command serve does
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

// refusals measures how long a server takes for its refusals. It is also the handler that
// tells it, and then begins anew.
type refusals struct {
	mu    sync.Mutex // guards what follows
	begun map[net.Conn]time.Time
	times load.Histogram
}

// ownTime is how long refusals take.
type ownTime struct{ P50, P99 time.Duration }

// measure has a server that does not serve yet tell of its requests.
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

// note notes that a first byte was read, or that all was written.
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

// ownTimes asks a server of refusals.
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
