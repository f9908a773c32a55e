package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"millrace/internal/test/testruntime"
	"millrace/sandbox"
)

// squatter is millrace with a goroutine that tries to open ports for each line of its
// standard input, and prints the results. It does what a model could do if its
// operations made any system call.
func squatter() {
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Println(squat(nil), squat(&unix.SockaddrInet4{}), squat(&unix.SockaddrInet4{Port: 1}))
		}
	}()
	main()
}

// squat listens with a new socket: at an address, or, for a socket without an address,
// at a port that the kernel chooses.
func squat(at unix.Sockaddr) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return "socket:" + unix.ErrnoName(err.(unix.Errno))
	}
	defer unix.Close(fd)
	if at != nil {
		if err := unix.Bind(fd, at); err != nil {
			return "bind:" + unix.ErrnoName(err.(unix.Errno))
		}
	}
	if err := unix.Listen(fd, 1); err != nil {
		return "listen:" + unix.ErrnoName(err.(unix.Errno))
	}
	return "listens"
}

// A server in the sandbox answers at its ports, and nothing in its process can open
// another port: with traces it can make sockets, which cannot listen, and without
// traces it can make none.
func TestServeOpensNoOtherPort(t *testing.T) {
	testruntime.Need(t)
	if p := sandbox.Available(); !p.Calls || !p.TCP {
		t.Skipf("SKIPPED: THE SANDBOX IS NOT TESTED: this kernel offers: %s", p)
	}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"no traces", nil, "socket:EPERM socket:EPERM socket:EPERM"},
		{"traces", []string{"--otlp-endpoint", "http://127.0.0.1:1"}, "listen:EPERM bind:EPERM bind:EPERM"},
		{"off", []string{"--sandbox", "off"}, "listens listens"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server, at, ask := startSquatter(t, append([]string{"--model", "m=../../testdata/models/countdown"}, tt.args...)...)
			if got := ask(); !strings.HasPrefix(got, tt.want) {
				t.Errorf("another port: %s, want %s", got, tt.want)
			}
			if err := countByREST(t.Context(), at["http"], 3); err != nil {
				t.Error(err)
			}
			server.Process.Signal(unix.SIGTERM)
			if err := server.Wait(); err != nil {
				t.Errorf("the server ended with %v", err)
			}
		})
	}
}

// startSquatter starts a server, and returns a function that makes it try to open other
// ports.
func startSquatter(t *testing.T, args ...string) (*exec.Cmd, map[string]string, func() string) {
	t.Helper()
	server := exec.CommandContext(t.Context(), "squatter", append([]string{"serve", "--sandbox=require", "--port", "-1", "--rest_api_port", "-1"}, args...)...)
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	addresses := startListening(t, server)
	answers := bufio.NewScanner(out)
	return server, addresses, func() string {
		fmt.Fprintln(in)
		answers.Scan()
		return answers.Text()
	}
}

// Before its models are loaded a server has its ports and refuses connections; a port
// in use is reported at that time. Addresses have the form that net.Listen accepts.
func TestServePorts(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	cmd := exec.CommandContext(t.Context(), "millrace", "serve", "--model", "m=../../testdata/models/countdown", "--host", "127.0.0.1", "--port", "0", "--rest_api_port", port)
	said, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 7 || !strings.Contains(string(said), "--rest_api_port "+port+": another process listens there; give another port") {
		t.Errorf("a port that is taken: %v\n%s", err, said)
	}
	if strings.Contains(string(said), "state=LOADING") {
		t.Errorf("it loaded the model first:\n%s", said)
	}
	testruntime.Need(t)
	for _, host := range []string{"", "0.0.0.0", "::1", "localhost"} {
		want, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
		if err != nil {
			t.Logf("not tried: %v", err) // a machine without IPv6
			continue
		}
		at, stop := startServe(t, "--model", "m=../../testdata/models/countdown", "--host", host)
		wantHost, _, _ := net.SplitHostPort(want.Addr().String())
		want.Close()
		if got, port, _ := net.SplitHostPort(at["http"]); got != wantHost || get(t, "http://"+net.JoinHostPort(got, port)+"/healthz") != "ok\n" {
			t.Errorf("--host %q listens at %s, net.Listen at %s", host, got, wantHost)
		}
		if code, log := stop(); code != 0 {
			t.Errorf("--host %q: code %d\n%s", host, code, log)
		}
	}
}

// startListening starts a server and returns its addresses once it listens.
func startListening(t *testing.T, server *exec.Cmd) map[string]string {
	t.Helper()
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	addresses, said := map[string]string{}, ""
	lines := bufio.NewScanner(log)
	for len(addresses) < 2 && lines.Scan() {
		said += lines.Text() + "\n"
		if _, rest, ok := strings.Cut(lines.Text(), "msg=listening interface="); ok {
			name, address, _ := strings.Cut(rest, " address=")
			addresses[name] = address
		}
	}
	if len(addresses) < 2 {
		t.Fatalf("%s ended: %v\n%s", server, server.Wait(), said)
	}
	go io.Copy(io.Discard, log)
	return addresses
}
