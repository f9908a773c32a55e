package queue_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/internal/test/graphtest"
	"millrace/internal/test/leak"
	"millrace/internal/test/soak"
	"millrace/tfbridge"
)

// A dequeue from a queue that is never filled, and an enqueue to one that is never
// emptied, end with the context. The error names the queue, nothing leaks, and the
// queue still works.
func TestContextEndsAWait(t *testing.T) {
	s := graphtest.NewScope(t)
	q := queue.NewFIFO(s, 1, []graph.Spec{number}, &queue.Options{Name: "filenames"})
	put, take, many, size := q.Enqueue(s, s.Const(int64(7))), q.Dequeue(s), q.DequeueMany(s, s.Const(int32(2))), q.Size(s)
	session := graphtest.NewSession(t, s, nil)
	wait := func(what string, op *tfbridge.Operation, outputs ...tfbridge.Output) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		var targets []*tfbridge.Operation
		if op != nil {
			targets = append(targets, op)
		}
		_, err := session.RunContext(ctx, nil, outputs, targets)
		if !errors.Is(err, millrace.ErrCanceled) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%s: got %v, want the end of the context", what, err)
		}
		if !strings.Contains(err.Error(), `"filenames" (FIFOQueueV2)`) {
			t.Errorf("%s: %v does not name the queue", what, err)
		}
	}
	wait("dequeue", nil, take...)
	wait("dequeue of two", nil, many...)
	mustDo(t, session, put)
	wait("enqueue", put)
	if got := mustFetch(t, session, size, take[0]); got[1] != int64(7) {
		t.Errorf("afterwards the queue returned %v", got[1])
	}
}

// A pipeline that is stopped in the middle leaks no goroutine and no handle.
func TestRoundsThatStopHalfway(t *testing.T) {
	round := func() {
		s := graph.NewScope()
		defer s.Graph().Close()
		q := queue.NewFIFO(s, 4, []graph.Spec{number}, nil)
		put, take := q.Enqueue(s, s.Const(int64(7))), q.DequeueMany(s, s.Const(int32(2)))
		session, err := tfbridge.NewSession(s.Graph(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			for {
				if _, err := session.RunContext(ctx, nil, nil, []*tfbridge.Operation{put}); err != nil {
					ended <- err
					return
				}
			}
		}()
		for range 3 {
			mustFetch(t, session, take...)
		}
		cancel()
		if err := <-ended; !errors.Is(err, millrace.ErrCanceled) {
			t.Errorf("the enqueues ended with %v", err)
		}
	}
	round() // starts threads that stay for the life of the process
	noneLeft, before := leak.Objects(t, tfbridge.Live), runtime.NumGoroutine()
	for range soak.Repeat(20, 1000, 1) {
		round()
	}
	noneLeft()
	for range 1000 { // goroutines of interrupted runs end a little later
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
		runtime.GC()
	}
	t.Errorf("%d goroutines are left, %d were before", runtime.NumGoroutine(), before)
}
