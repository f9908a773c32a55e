package main

import (
	"net"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// A flood of connections takes all file descriptors that the server may have. When they
// are closed the server continues to serve, and has not lost its model.
func TestServeConnectionFlood(t *testing.T) {
	server, at := startServer(t, "--model", "m=../../testdata/models/countdown", "--file_system_poll_wait_seconds", "1")
	defer func() {
		server.Process.Kill()
		server.Wait()
	}()
	if err := countByREST(t.Context(), at["http"], 2); err != nil { // opens everything that is opened late
		t.Fatal(err)
	}
	limit := unix.Rlimit{Cur: 64, Max: 64}
	if err := unix.Prlimit(server.Process.Pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]string{"REST": at["http"], "gRPC": at["grpc"]} {
		var flood []net.Conn
		for range 200 {
			c, err := net.Dial("tcp", address)
			if err != nil {
				break // the queue of the listener is full
			}
			flood = append(flood, c)
		}
		for _, c := range flood {
			c.Close()
		}
		for range 20 {
			if err := countByREST(t.Context(), at["http"], 3); err != nil {
				t.Fatalf("REST after a flood of %s: %v", name, err)
			}
		}
		conn, err := grpc.NewClient(at["grpc"], grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		if err := countByRPC(t.Context(), conn, 3); err != nil {
			t.Errorf("gRPC after a flood of %s: %v", name, err)
		}
		conn.Close()
	}
	if figures := get(t, "http://"+at["http"]+"/metrics"); !strings.Contains(figures, "millrace") {
		t.Errorf("metrics: %.200s", figures)
	}
}
