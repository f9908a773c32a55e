package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"millrace/internal/base/servingproto"
	"millrace/internal/base/tfproto"
	"millrace/internal/test/soak"
)

// Clients leave while their requests run a loop that never ends: 20 of each interface,
// 100 in "make soak". The server then answers normal requests, and afterwards computes
// nothing.
func TestServeClientsLeave(t *testing.T) {
	server, at := startServer(t, "--model", "m=../../testdata/models/countdown")
	defer func() {
		server.Process.Kill()
		server.Wait()
	}()
	conn, err := grpc.NewClient(at["grpc"], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for name, count := range map[string]func(context.Context, int64) error{
		"REST": func(ctx context.Context, n int64) error { return countByREST(ctx, at["http"], n) },
		"gRPC": func(ctx context.Context, n int64) error { return countByRPC(ctx, conn, n) },
	} {
		for i := range soak.Rounds(20, 100) {
			ctx, leave := context.WithTimeout(t.Context(), 10*time.Millisecond)
			if err := count(ctx, -1); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: endless request %d: %v", name, i, err)
			}
			leave()
		}
		for i := range soak.Rounds(100, 1000) {
			if err := count(t.Context(), 3); err != nil {
				t.Fatalf("%s: sound request %d: %v", name, i, err)
			}
		}
		const interval, most = time.Second, 300 * time.Millisecond
		if spent := processorTime(t, server.Process.Pid, interval); spent > most {
			t.Errorf("%s: the idle server computed for %v in %v", name, spent, interval)
		}
	}
	if figures := get(t, "http://"+at["http"]+"/metrics"); !strings.Contains(figures, "\nmillrace_serving_stuck_runs 0\n") {
		_, rest, _ := strings.Cut(figures, "millrace_serving_stuck")
		t.Errorf("stuck runs:%.300s", rest)
	}
}

// countByREST asks the model countdown to count n steps.
func countByREST(ctx context.Context, address string, n int64) error {
	q, err := http.NewRequestWithContext(ctx, "POST", "http://"+address+"/v1/models/m:predict", strings.NewReader(fmt.Sprintf(`{"inputs": %d}`, n)))
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if want := fmt.Sprintf("{\"outputs\":%d}\n", n); err == nil && string(text) != want {
		return fmt.Errorf("status %d: got %s, want %s", a.StatusCode, text, want)
	}
	return err
}

// countByRPC asks the model countdown to count n steps. As a client it sends no
// deadline, and leaves when ctx is done.
func countByRPC(ctx context.Context, conn *grpc.ClientConn, n int64) error {
	open, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	a := &servingproto.PredictResponse{}
	err := conn.Invoke(open, "/tensorflow.serving.PredictionService/Predict", &servingproto.PredictRequest{
		ModelSpec: &servingproto.ModelSpec{Name: "m"},
		Inputs: map[string]*tfproto.TensorProto{"n": {
			Dtype: tfproto.DataType_DT_INT64, Int64Val: []int64{n}, TensorShape: &tfproto.TensorShapeProto{},
		}},
	}, a)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if got := a.GetOutputs()["steps"].GetInt64Val(); err == nil && (len(got) != 1 || got[0] != n) {
		return fmt.Errorf("got %v, want %d", got, n)
	}
	return err
}

// processorTime returns how long a process computes within an interval.
func processorTime(t *testing.T, pid int, interval time.Duration) time.Duration {
	t.Helper()
	ticks := func() (sum int64) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		var user, system int64
		if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
			t.Fatal(err)
		}
		return user + system
	}
	before := ticks()
	<-time.After(interval)
	return time.Duration(ticks()-before) * 10 * time.Millisecond // 100 a second
}
