package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"millrace/tfbridge"
)

const models = "../../testdata/models/"

func TestMain(m *testing.M) {
	if _, err := tfbridge.Open(nil); err != nil && os.Getenv("MILLRACE_TEST_RUNTIME") == "" {
		os.Stderr.WriteString("skipped: " + err.Error() + "\n")
		return
	}
	code := m.Run()
	if n := tfbridge.Live(); code == 0 && n != 0 {
		println("handles left open:", n)
		code = 1
	}
	os.Exit(code)
}

// freePort returns an unused address.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// The service answers as the README says, is healthy while it runs, and ends without an error.
func TestService(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	addr := freePort(t)
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-addr", addr, "-model", models + "strings", "-name", "demo", "-max-body", "1000"})
	}()
	ask := []string{"-probe", "-addr", addr, "-name", "demo"}
	for run(ctx, ask) != nil {
		select {
		case err := <-ended:
			t.Fatalf("the service ended: %v", err)
		default:
		}
	}
	for _, tt := range []struct {
		body, want string
		status     int
	}{
		{`{"instances": ["mill", "race"]}`, `{"predictions":[{"length":4,"upper":"MILL"},{"length":4,"upper":"RACE"}]}`, 200},
		{`{"instances": [1]}`, `"error"`, 400},
		{`{"instances": [` + strings.Repeat(" ", 1000) + `]}`, `"error"`, 413},
	} {
		r, err := http.Post("http://"+addr+"/v1/models/demo:predict", "application/json", strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != tt.status || !strings.Contains(string(text), tt.want) {
			t.Errorf("%.40s: got %d %s, want %d %s", tt.body, r.StatusCode, text, tt.status, tt.want)
		}
	}
	if err := run(ctx, []string{"-probe", "-addr", addr, "-name", "other"}); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a probe of another model: %v", err)
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), ask); err == nil {
		t.Error("a probe of nobody succeeds")
	}
}

// Without its model or its address the program says so and ends.
func TestRunFails(t *testing.T) {
	for _, args := range [][]string{{}, {"-model", t.TempDir() + "/nothing/1/"}, {"-model", models + "constant", "-addr", "nowhere:-1"}} {
		ctx, cancel := context.WithCancel(t.Context())
		if len(args) == 2 {
			cancel() // a folder without versions is waited for
		}
		if err := run(ctx, args); err == nil {
			t.Errorf("%v: no error", args)
		}
		cancel()
	}
}
