package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// backends are the servers behind a proxy. Only ready servers get requests, as behind a
// load balancer that requests /readyz from time to time.
type backends struct {
	mu    sync.Mutex
	ready map[string]bool // key: an address
	next  int
}

// add adds a server that is ready.
func (b *backends) add(address string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready[address] = true
}

// probe asks all servers whether they are ready.
func (b *backends) probe() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for address := range b.ready {
		b.ready[address] = statusOf("http://"+address+"/readyz") == http.StatusOK
	}
}

// pick returns a server that is ready, in turn.
func (b *backends) pick() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for address, ready := range b.ready {
		if ready {
			all = append(all, address)
		}
	}
	if len(all) == 0 {
		return ""
	}
	b.next++
	return all[b.next%len(all)]
}

// Two servers behind a proxy are replaced one after the other under load. No request
// fails: --drain-delay lets the proxy notice, and requests in flight are answered.
func TestRollingRestart(t *testing.T) {
	b := &backends{ready: map[string]bool{}}
	begin := func() *exec.Cmd {
		server, at := startServer(t, "--model", "m=../../testdata/models/constant", "--drain-delay", "500ms")
		b.add(at["http"])
		return server
	}
	servers := []*exec.Cmd{begin(), begin()}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", b.pick()
	}})
	defer proxy.Close()

	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		for probes := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-probes.C:
				b.probe()
			case <-done:
				return
			}
		}
	})
	var answered, failed atomic.Int64
	var first sync.Once
	for range 4 {
		work.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := predictOnce(proxy.URL); err != nil {
					failed.Add(1)
					first.Do(func() { t.Errorf("a request failed: %v", err) })
				}
				answered.Add(1)
			}
		})
	}
	for i, old := range servers {
		servers[i] = begin()
		old.Process.Signal(syscall.SIGTERM)
		if err := old.Wait(); err != nil {
			t.Errorf("server %d ended with %v", i, err)
		}
	}
	close(done)
	work.Wait()
	for _, server := range servers {
		server.Process.Kill()
		server.Wait()
	}
	t.Logf("%d requests, %d failed", answered.Load(), failed.Load())
	if failed.Load() > 0 || answered.Load() < 100 {
		t.Errorf("%d of %d requests failed", failed.Load(), answered.Load())
	}
}

// predictOnce sends a request for a prediction and compares the answer.
func predictOnce(url string) error {
	a, err := http.Post(url+"/v1/models/m:predict", "application/json", strings.NewReader(`{"instances": [1, 2.5]}`))
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err == nil && string(text) != "{\"predictions\":[3.0,6.0]}\n" {
		err = fmt.Errorf("status %d: %s", a.StatusCode, text)
	}
	return err
}
