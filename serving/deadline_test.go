package serving

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace"
	"millrace/dtype"
	"millrace/graph"
	"millrace/internal/test/testruntime"
	"millrace/tfbridge"
)

// endless is a request that the model countdown never answers, and answered is one that
// it answers.
var endless, answered = map[string]any{"n": int64(-1)}, map[string]any{"n": int64(3)}

// countdown makes a folder with a version of a model that loops. TensorFlow turns the
// loop into operations of the graph around it, unless lowered is false.
func countdown(t *testing.T, lowered bool) string {
	t.Helper()
	base := t.TempDir()
	file := filepath.Join(put(t, base, "countdown", 1), "saved_model.pb")
	if lowered {
		return base
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(file), "fingerprint.pb")); err != nil {
		t.Fatal(err)
	}
	// Rename the attribute that asks for lowering to one of the same length, which is
	// ignored.
	raw = bytes.ReplaceAll(raw, []byte("_lower_using_switch_merge"), []byte("_leave_using_switch_merge"))
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	return base
}

// A hundred endless requests in sequence, and then twenty at once, are stopped: by
// their deadline, or when the client leaves long before it. The requests that follow
// are answered, and nothing remains running.
func TestEndlessRequests(t *testing.T) {
	deadline := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(t.Context(), 5*time.Millisecond)
	}
	leave := func() (context.Context, context.CancelFunc) { // the server's deadline applies
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		time.AfterFunc(5*time.Millisecond, cancel)
		return ctx, cancel
	}
	for _, tt := range []struct {
		name            string
		lowered, inline bool
		context         func() (context.Context, context.CancelFunc)
	}{
		{"lowered deadline", true, false, deadline},
		{"lowered inline leave", true, true, leave},
		{"function deadline", false, true, deadline},
		{"function leave", false, false, leave},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, ModelConfig{BasePath: countdown(t, tt.lowered)}, Options{Model: &graph.ModelOptions{Inline: tt.inline}})
			v, err := s.Acquire(ModelSpec{Name: "m"})
			if err != nil {
				t.Fatal(err)
			}
			defer v.Release()
			never := func() {
				ctx, cancel := tt.context()
				defer cancel()
				if _, err := v.Predict(ctx, "", endless); !errors.Is(err, millrace.ErrCanceled) {
					t.Errorf("an endless request: %v", err)
				}
			}
			for range 100 {
				never()
			}
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(never)
			}
			wg.Wait()
			for range 1000 {
				out, err := v.Predict(t.Context(), "", answered)
				if err != nil {
					t.Fatal(err)
				}
				if got := out["steps"].Value(); got != int64(3) {
					t.Errorf("got %v", got)
				}
				out["steps"].Close()
			}
			if left := v.model.Abandoned(); len(left) != 0 {
				t.Errorf("runs go on: %v", left)
			}
			if err := v.model.Close(); err != nil { // it waits for runs
				t.Error(err)
			}
		})
	}
}

// A run that TensorFlow does not end is reported: in the log, among the stuck runs, and
// by readiness. When it ends the server is ready again.
func TestStuckRun(t *testing.T) {
	testruntime.Need(t)
	base := t.TempDir()
	put(t, base, "linear", 1)
	var log bytes.Buffer
	s, err := New(t.Context(), []ModelConfig{{Name: "m", BasePath: base}}, &Options{
		FileSystemPollWait: -1, StuckRunTimeout: stuckGrace + time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	changes := make(chan bool, 10)
	s.OnHealth(func(h Health) { changes <- h.Err == nil })
	v, err := s.Acquire(ModelSpec{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	finish := stick(t, v.model)
	if ready := <-changes; !ready || s.Ready() != nil {
		t.Errorf("at first: %v, %v", ready, s.Ready())
	}
	if ready := <-changes; ready {
		t.Error("a stuck run is not noticed")
	}
	if err := s.Ready(); !errors.Is(err, millrace.ErrOverloaded) || !strings.Contains(err.Error(), `model "m", version 1`) {
		t.Errorf("Ready: %v", err)
	}
	if all := s.StuckRuns(); len(all) != 1 || all[0].Model != "m" || all[0].Version != 1 {
		t.Errorf("stuck runs: %v", all)
	}
	finish()
	if ready := <-changes; !ready || s.Ready() != nil || len(s.StuckRuns()) != 0 {
		t.Errorf("after the run: %v, %v, %v", ready, s.Ready(), s.StuckRuns())
	}
	v.Release()
	if err := s.Close(); err != nil || !errors.Is(s.Ready(), millrace.ErrClosed) {
		t.Errorf("after Close: %v, %v", err, s.Ready())
	}
	if n := strings.Count(log.String(), `level=WARN msg="stuck run" model=m version=1`); n != 1 {
		t.Errorf("the log has %d lines about the run:\n%s", n, &log)
	}
}

// stick makes a run of a model whose client leaves while a Go function computes. The
// run ends when finish is called.
func stick(t *testing.T, m *graph.Model) (finish func()) {
	t.Helper()
	calls := make(chan *tfbridge.Call, 1)
	scope := graph.NewScopeWithGraph(m.Graph())
	out := graph.GoCall(scope, graph.GoCallSpec{
		Name: "slow", Out: []graph.Spec{{DType: dtype.Int64}}, Fn: func(c *tfbridge.Call) { calls <- c },
	})
	c, err := m.Session().Prepare(nil, out, nil)
	if err := errors.Join(err, scope.Err()); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := c.Run(ctx, nil)
		gone <- err
	}()
	call := <-calls
	leave()
	if err := <-gone; !errors.Is(err, millrace.ErrCanceled) {
		t.Error(err)
	}
	return func() { call.Fail(errors.New("late")) }
}
