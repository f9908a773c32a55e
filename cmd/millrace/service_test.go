package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/internal/test/address"
	"millrace/internal/test/fixture"
	"millrace/internal/test/testruntime"
	"millrace/loaders"
	"millrace/tfbridge"
)

// needOperations skips a test where the library of operations is missing.
func needOperations(t *testing.T) {
	t.Helper()
	testruntime.Need(t)
	r, err := tfbridge.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !r.HasOperations() {
		t.Skip("no library of operations here: type make native")
	}
}

// started is a server of a data service in a process.
type started struct {
	*exec.Cmd
	rest bytes.Buffer // what it says after its line that it is ready
	done chan struct{}
}

// start starts a server and waits until it is ready.
func start(t *testing.T, args ...string) *started {
	t.Helper()
	s := &started{Cmd: exec.CommandContext(t.Context(), "millrace", args...), done: make(chan struct{})}
	pipe, err := s.StderrPipe()
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(pipe)
	var before strings.Builder
	for {
		line, err := said.ReadString('\n')
		if before.WriteString(line); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, before.String())
		}
		if strings.Contains(line, "msg=ready") {
			break
		}
	}
	go func() {
		defer close(s.done)
		said.WriteTo(&s.rest) //nolint:errcheck // the process's end ends it
	}()
	return s
}

// end sends a signal and returns the exit code.
func (s *started) end(t *testing.T, signal syscall.Signal) int {
	t.Helper()
	if err := s.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	<-s.done
	_ = s.Wait()
	return s.ProcessState.ExitCode()
}

// port returns the port of an address.
func port(address string) string { return address[strings.LastIndex(address, ":")+1:] }

// startDispatcher starts a dispatcher.
func startDispatcher(t *testing.T, address, dir string) *started {
	t.Helper()
	return start(t, "dispatcher", "--port", port(address), "--work-dir", dir, "--trusted-network", "--worker-timeout", "2s")
}

// startServiceWorker starts a worker that reads the files of a folder.
func startServiceWorker(t *testing.T, address, dispatcher, data string) *started {
	t.Helper()
	return start(t, "worker", "--port", port(address), "--host", "localhost", "--dispatcher", dispatcher, "--data", data, "--trusted-network")
}

// The servers start, know each other, and end by SIGTERM.
func TestServiceServers(t *testing.T) {
	needOperations(t)
	at := address.Free(t, 3)
	dispatcher := startDispatcher(t, at[0], t.TempDir())
	worker := startServiceWorker(t, at[1], at[0], t.TempDir())
	said, _ := trained(t, 0, "service", "status", at[0], "--json")
	var s struct {
		Protocol int64
		Workers  []struct {
			Address, Error string
			Tasks          []any
		}
	}
	if err := json.Unmarshal([]byte(said), &s); err != nil || len(s.Workers) != 1 || s.Workers[0].Address != "localhost:"+port(at[1]) || s.Workers[0].Error != "" || s.Workers[0].Tasks == nil {
		t.Errorf("%v\n%s", err, said)
	}
	if s.Protocol != 9 {
		t.Errorf("the protocol is %d", s.Protocol)
	}
	for name, args := range map[string][]string{
		"is not one of a data service": {"service", "status", at[1]},
		"connection refused":           {"service", "status", at[2]},
	} {
		if _, said := trained(t, 7, args...); !strings.Contains(said, name) {
			t.Errorf("%q: %s", args, said)
		}
	}
	if _, said := trained(t, 7, "worker", "--dispatcher", at[2], "--trusted-network", "--dispatcher-timeout", "1ms"); !strings.Contains(said, "connection refused") {
		t.Error(said)
	}
	for _, s := range []*started{worker, dispatcher} {
		if code := s.end(t, syscall.SIGTERM); code != 0 || !strings.Contains(s.rest.String(), "msg=stopping cause=SIGTERM") {
			t.Errorf("%q ends with %d\n%s", s.Args, code, s.rest.String())
		}
	}
}

// A server that anybody could use does not start before somebody calls the network trusted.
func TestServiceRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"the dispatcher would listen at port 5050": {"dispatcher", "--work-dir", t.TempDir()},
		"the worker would listen at port 5051":     {"worker", "--dispatcher", "localhost:1"},
		"needs --work-dir DIR":                     {"dispatcher", "--trusted-network"},
		"needs --dispatcher HOST:PORT":             {"worker", "--trusted-network"},
		"--dispatcher is 5050; it is HOST":         {"worker", "--dispatcher", "5050", "--trusted-network"},
		"--port is 65536":                          {"worker", "--dispatcher", "a:1", "--port", "65536"},
		"both 5050":                                {"dispatcher", "--work-dir", "x", "--metrics-port", "5050"},
	} {
		if _, said := trained(t, 2, args...); !strings.Contains(said, want) {
			t.Errorf("%q: %s", args, said)
		}
	}
}

// servedData returns a dataset of 400 records in four files, in batches of 8 of an exact order.
func servedData(t *testing.T, more fixture.Object) *fixture.Dataset {
	t.Helper()
	f := fixture.New(t)
	for i := range int64(4) {
		f.WriteRecords(t, fmt.Sprint(i, ".tfrecords"), fixture.Records(100*i, 100*i+100)...)
	}
	maps.Copy(f.Args, fixture.Object{"seed": 11, "target_batch_size": 8, "epochs": 2, "shuffle": true, "shuffle_mode": "exact", "num_prefetch": 2})
	maps.Copy(f.Args, more)
	if more["min_window"] != nil {
		f.Type = "continuous_sequence"
	}
	return f
}

// served returns "service" for blocks of a few records.
func served(address string) fixture.Object {
	return fixture.Object{"address": address, "block_bytes": 600, "wait_ms": 500}
}

// opened opens a dataset's loader, by a service unless that is nil. Tests close it while the servers
// run: after their end it takes seconds.
func opened(t *testing.T, f *fixture.Dataset, service fixture.Object) *loaders.Loader {
	t.Helper()
	if delete(f.Args, "service"); service != nil {
		f.Args["service"] = service
	}
	f.Save(t)
	l, err := loaders.Open(f.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// closed closes loaders.
func closed(t *testing.T, all ...*loaders.Loader) {
	t.Helper()
	for _, l := range all {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// batchesOf returns the ids and values of the batches of a run, and its states. at is called
// before each batch.
func batchesOf(t *testing.T, l *loaders.Loader, o *loaders.RunOptions, at func(batch int)) (all []string, states [][]byte) {
	t.Helper()
	if at == nil {
		at = func(int) {}
	}
	at(0)
	for b, err := range l.Run(t.Context(), o) {
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, x := range l.Plan().Tensors {
			fmt.Fprintf(&text, "%v ", b.Tensor(x.Name).Value())
		}
		all, states = append(all, text.String()), append(states, b.State())
		at(len(all))
	}
	return all, states
}

// The workers of a service give the batches of one process, in its order, and a run continues
// with a service or without from where another stopped.
func TestServiceBatches(t *testing.T) {
	needOperations(t)
	at := address.Free(t, 3)
	startDispatcher(t, at[0], t.TempDir())
	startServiceWorker(t, at[1], at[0], os.TempDir())
	startServiceWorker(t, at[2], at[0], os.TempDir())
	tests := map[string]fixture.Object{
		"exact":         {},
		"drop":          {"drop_remainder": true, "target_batch_size": 7},
		"block":         {"shuffle_mode": "block", "num_shuffle_buffer_elements": 60},
		"range":         {"shuffle": false, "shuffle_mode": "buffer", "range": fixture.Object{"start": 3, "end": 211}},
		"shard":         {"shard": fixture.Object{"count": 3, "index": 1}},
		"large batches": {"target_batch_size": 150},
		"windows":       {"primary_features": []fixture.Object{{"from_name": "xs", "to_name": "xs"}}, "min_window": 3, "max_window": 3},
		"steps": {"processing_steps": []fixture.Object{
			{"tensor": "xs", "type": "random_gain", "args": fixture.Object{"lower": 0.25, "upper": 1.5}},
		}},
	}
	for name, args := range tests {
		f := servedData(t, args)
		alone := opened(t, f, nil)
		want, states := batchesOf(t, alone, &loaders.RunOptions{SaveEvery: 1}, nil)
		before, err := tfbridge.ServiceBlocks()
		if err != nil {
			t.Fatal(err)
		}
		together := opened(t, f, served(at[0]))
		got, servedStates := batchesOf(t, together, &loaders.RunOptions{SaveEvery: 1}, nil)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s (-alone +served):\n%s", name, diff)
		}
		after, err := tfbridge.ServiceBlocks()
		if err != nil {
			t.Fatal(err)
		}
		if after.Made != before.Made || after.Received == before.Received {
			t.Errorf("%s: of the blocks the service gave %d, and %d were made here", name, after.Received-before.Received, after.Made-before.Made)
		}
		middle := len(want) / 2
		for what, from := range map[string]struct {
			loader *loaders.Loader
			state  []byte
		}{"a service continues": {together, states[middle]}, "one process continues": {alone, servedStates[middle]}} {
			rest, _ := batchesOf(t, from.loader, &loaders.RunOptions{State: from.state}, nil)
			if diff := cmp.Diff(want[middle+1:], rest); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, what, diff)
			}
		}
		closed(t, alone, together)
	}
}

// Workers that are killed lose no batch and double none, even if none is left.
func TestServiceKilledWorkers(t *testing.T) {
	needOperations(t)
	at := address.Free(t, 3)
	startDispatcher(t, at[0], t.TempDir())
	first, second := startServiceWorker(t, at[1], at[0], os.TempDir()), startServiceWorker(t, at[2], at[0], os.TempDir())
	f := servedData(t, fixture.Object{"epochs": 10})
	alone := opened(t, f, nil)
	want, _ := batchesOf(t, alone, nil, nil)
	together := opened(t, f, served(at[0]))
	before, err := tfbridge.ServiceBlocks()
	if err != nil {
		t.Fatal(err)
	}
	got, _ := batchesOf(t, together, nil, func(batch int) {
		switch batch {
		case 20:
			first.end(t, syscall.SIGKILL)
		case 60:
			second.end(t, syscall.SIGKILL)
		}
	})
	closed(t, alone, together)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-alone +served):\n%s", diff)
	}
	after, err := tfbridge.ServiceBlocks()
	if err != nil {
		t.Fatal(err)
	}
	if after.Made == before.Made || after.Received == before.Received {
		t.Errorf("the service gave %d blocks, and %d were made here", after.Received-before.Received, after.Made-before.Made)
	}
}

// What a run by a service needs is looked at before its job is made.
func TestServiceMissing(t *testing.T) {
	needOperations(t)
	at := address.Free(t, 2)
	f := servedData(t, nil)
	runs := func(want string, class error) {
		t.Helper()
		l := opened(t, f, served(at[0]))
		defer closed(t, l)
		for _, err := range l.Batches(t.Context()) {
			if !errors.Is(err, class) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), f.Config()) {
				t.Errorf("%v, want %q", err, want)
			}
			return
		}
		t.Errorf("no error, want %q", want)
	}
	runs("connection refused", millrace.ErrIO)
	startDispatcher(t, at[0], t.TempDir())
	runs("has no workers", millrace.ErrIO)
}
