package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// memoryOf returns a figure of a process's memory in bytes: "VmRSS" now, "VmHWM" at most.
func memoryOf(t *testing.T, pid int, figure string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), figure+":")
	var kib int64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// whileServing calls f while a client sends normal requests, all of which must be
// answered.
func whileServing(t *testing.T, address string, f func()) {
	t.Helper()
	stop, stopped, n := make(chan struct{}), make(chan struct{}), 0
	go func() {
		defer close(stopped)
		for ; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			a, err := http.Post("http://"+address+"/v1/models/m:predict", "application/json", strings.NewReader(`{"instances": [1]}`))
			if err != nil {
				t.Errorf("sound request %d: %v", n, err)
				return
			}
			io.Copy(io.Discard, a.Body)
			a.Body.Close()
			if a.StatusCode != http.StatusOK {
				t.Errorf("sound request %d: status %d", n, a.StatusCode)
				return
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	if n < 3 {
		t.Errorf("only %d sound requests were answered", n)
	}
}

// waitReturned waits until requests take no memory and the process has returned all
// memory beyond most.
func waitReturned(t *testing.T, address string, pid int, most int64) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; runtime.Gosched() {
		figures := get(t, "http://"+address+"/metrics")
		rss := memoryOf(t, pid, "VmRSS")
		if strings.Contains(figures, "millrace_serving_request_memory_bytes 0\n") && rss < most {
			t.Logf("peak %d MiB, %d MiB after", memoryOf(t, pid, "VmHWM")>>20, rss>>20)
			return
		}
		if time.Now().After(end) {
			_, rest, _ := strings.Cut(figures, "\nmillrace_serving_request_memory")
			t.Fatalf("the process has %d MiB, want %d; metrics:%.300s", rss>>20, most>>20, rest)
		}
	}
}

// Bodies that inflate, and bodies that do not end, take no more memory than there is
// for requests. Normal requests are answered meanwhile, and the memory is returned.
func TestServeMemory(t *testing.T) {
	// The server limits Go's memory to twice the budget and 256 MiB. The collector runs
	// concurrently with allocations, so it may be late by some bodies.
	const budget, spare, rest = 256 << 20, 512 << 20, 128 << 20
	server, at := startServer(t, "--model", "m=../../testdata/models/constant", "--request-memory", fmt.Sprint(budget), "--max-body", fmt.Sprint(128<<20))
	pid, address := server.Process.Pid, at["http"]
	defer func() {
		server.Process.Kill()
		server.Wait()
	}()
	get(t, "http://"+address+"/v1/models/m")
	before := memoryOf(t, pid, "VmRSS")
	bomb := inflating(t, 90<<20)
	t.Logf("before: %d MiB; %d bytes of gzip", before>>20, len(bomb))

	refused := 0
	var mu sync.Mutex
	whileServing(t, address, func() {
		var work sync.WaitGroup
		for range 40 {
			work.Go(func() {
				q, err := http.NewRequest("POST", "http://"+address+"/v1/models/m:predict", bytes.NewReader(bomb))
				if err != nil {
					t.Error(err)
					return
				}
				q.Header.Set("Content-Encoding", "gzip")
				a, err := http.DefaultClient.Do(q)
				if err != nil {
					t.Error(err)
					return
				}
				a.Body.Close()
				mu.Lock()
				defer mu.Unlock()
				if a.StatusCode == http.StatusTooManyRequests {
					refused++
				}
			})
		}
		work.Wait()
	})
	if refused < 30 {
		t.Errorf("%d of 40 bodies that inflate were refused", refused)
	}
	if peak := memoryOf(t, pid, "VmHWM"); peak > before+2*budget+spare {
		t.Errorf("bodies that inflate took %d MiB", (peak-before)>>20)
	}
	waitReturned(t, address, pid, before+rest)

	whileServing(t, address, func() {
		half := make([]byte, 50<<20)
		var work sync.WaitGroup
		conns := make([]net.Conn, 20)
		for i := range conns {
			work.Go(func() {
				c, err := net.Dial("tcp", address)
				if err != nil {
					t.Error(err)
					return
				}
				conns[i] = c
				fmt.Fprintf(c, "POST /v1/models/m:predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", 60<<20)
				c.Write(half) // fails if the server refuses it
			})
		}
		work.Wait()
		for _, c := range conns {
			if c != nil {
				c.Close()
			}
		}
	})
	if peak := memoryOf(t, pid, "VmHWM"); peak > before+2*budget+spare {
		t.Errorf("bodies that do not end took %d MiB", (peak-before)>>20)
	}
	waitReturned(t, address, pid, before+rest)
}

// inflating returns gzip of a request whose JSON has n bytes.
func inflating(t *testing.T, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	fmt.Fprintf(w, `{"instances": [%s1]}`, strings.Repeat(" ", n))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
