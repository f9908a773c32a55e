package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// server is a model server in a separate process.
type server struct {
	address string // address of its REST interface
	grpc    string // "" if there is none
	process *exec.Cmd
	log     *tail
}

// startMillrace starts millrace serve on free ports, which it reads from the server's
// log.
func startMillrace(ctx context.Context, program string, args ...string) (*server, error) {
	args = append([]string{"serve", "--host", "127.0.0.1", "--port", "-1", "--rest_api_port", "-1"}, args...)
	s := &server{process: exec.CommandContext(ctx, program, args...), log: &tail{}}
	out, err := s.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := startPinned(s.process); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for (s.address == "" || s.grpc == "") && lines.Scan() {
		fmt.Fprintln(s.log, lines.Text())
		_, said, _ := strings.Cut(lines.Text(), "msg=listening interface=")
		if address, ok := strings.CutPrefix(said, "http address="); ok {
			s.address = address
		}
		if address, ok := strings.CutPrefix(said, "grpc address="); ok {
			s.grpc = address
		}
	}
	go io.Copy(io.Discard, out)
	if s.address == "" || s.grpc == "" {
		return nil, errors.Join(fmt.Errorf("millrace serve does not listen:\n%s", s.log.text), s.stop())
	}
	return s, nil
}

// startPython starts uvicorn with the given number of processes.
func startPython(ctx context.Context, python, model string, batching bool, processes int) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{address: l.Addr().String(), log: &tail{}}
	_, port, err := net.SplitHostPort(s.address)
	if err := errors.Join(err, l.Close()); err != nil {
		return nil, err
	}
	s.process = exec.CommandContext(ctx, python, "-m", "uvicorn", "--app-dir", "bench", "bench_python_serving:app",
		"--port", port, "--workers", fmt.Sprint(processes), "--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning")
	s.process.Env = append(os.Environ(), "MODEL="+model, "BATCHING="+map[bool]string{false: "0", true: "1"}[batching])
	s.process.Stdout, s.process.Stderr = s.log, s.log
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its workers end with it
	s.process.Cancel = func() error { return syscall.Kill(-s.process.Process.Pid, syscall.SIGKILL) }
	return s, s.process.Start()
}

// stop ends the server.
func (s *server) stop() error {
	if s.process.SysProcAttr != nil {
		defer syscall.Kill(-s.process.Process.Pid, syscall.SIGKILL)
	}
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.process.Wait() }()
	select {
	case <-ended: // some end with a code, others by the signal
		return nil
	case <-time.After(20 * time.Second):
		return errors.Join(errors.New("the server did not end after SIGTERM"), s.process.Process.Kill(), <-ended)
	}
}

// servingStart is how long a server may take to start.
const servingStart = 2 * time.Minute

// predict returns the answer to a request for a prediction. It waits until the
// server listens.
func (s *server) predict(ctx context.Context, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, servingStart)
	defer cancel()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+servingPath, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		r.Close = true
		a, err := http.DefaultClient.Do(r)
		if err == nil {
			defer a.Body.Close()
			text, err := io.ReadAll(a.Body)
			if a.StatusCode != http.StatusOK {
				err = errors.Join(err, fmt.Errorf("%s answers %s: %s", s.address, a.Status, text))
			}
			return text, err
		}
		var refused *net.OpError
		if ctx.Err() != nil || !errors.As(err, &refused) || s.process.ProcessState != nil {
			return nil, fmt.Errorf("%w\n%s", err, s.log.text)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
