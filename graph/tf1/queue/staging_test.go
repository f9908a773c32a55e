package queue_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/tf1/queue"
	"millrace/internal/test/graphtest"
	"millrace/tfbridge"
)

// waitingAt adds an operation that counts the runs that wait at a staging area.
func waitingAt(s *graph.Scope, area string) tfbridge.Output {
	token := []graph.Spec{{DType: tfbridge.Bool, Shape: tfbridge.ScalarShape()}}
	return queue.NewFIFO(s, queue.Unbounded, token, &queue.Options{SharedName: area + "/waiting"}).Size(s)
}

// A staging area returns its elements in their order, shows them by index, and can be
// cleared.
func TestStagingArea(t *testing.T) {
	s := graphtest.NewScope(t)
	a := queue.NewStagingArea(s, []graph.Spec{number, word}, nil)
	value := s.Placeholder(tfbridge.Int64, tfbridge.ScalarShape())
	put := a.Put(s, a.FromMap(s, map[string]tfbridge.Output{"number": value, "word": s.Const("a")})...)
	get, second, size, clear := a.ToMap(a.Get(s)), a.Peek(s, s.Const(int32(1))), a.Size(s), a.Clear(s)
	session := graphtest.NewSession(t, s, nil)
	for i := range int64(4) {
		if err := feed(t, session, value, i, put); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int64(2) {
		if got := mustFetch(t, session, second[0])[0]; got != i+1 {
			t.Errorf("the second element is %v, want %d", got, i+1)
		}
		if diff := cmp.Diff([]any{i, "a"}, mustFetch(t, session, get["number"], get["word"])); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	if got := mustFetch(t, session, size)[0]; got != int32(2) {
		t.Errorf("the size is %v, want 2", got)
	}
	mustDo(t, session, clear)
	if got := mustFetch(t, session, size)[0]; got != int32(0) {
		t.Errorf("the size is %v after Clear", got)
	}
}

// A run that waits at a full or empty staging area can be interrupted, and the session
// closes at once. TensorFlow's own Unstage would hold the session.
func TestStagingAreaInterrupted(t *testing.T) {
	s := graphtest.NewScope(t)
	a := queue.NewStagingArea(s, []graph.Spec{number}, &queue.StagingOptions{Capacity: 1})
	m := queue.NewMapStagingArea(s, []graph.Spec{number}, &queue.StagingOptions{Capacity: 1})
	waiting := waitingAt(s, a.Name())
	put, get, peek, clear := a.Put(s, s.Const(int64(7))), a.Get(s), a.Peek(s, s.Const(int32(1))), a.Clear(s)
	putKey := m.Put(s, s.Const(int64(1)), s.Const(int64(7)))
	getKey, anyKey, clearMap := m.Get(s, s.Const(int64(2))), m.Peek(s, s.Const(int64(3))), m.Clear(s)
	session := graphtest.NewSession(t, s, nil)
	for _, outputs := range [][]tfbridge.Output{get, getKey, anyKey} {
		if !stays(t, session, outputs[0]) {
			t.Errorf("%v did not wait", outputs[0])
		}
	}
	mustDo(t, session, clear)
	mustDo(t, session, clearMap)
	mustDo(t, session, put)
	mustDo(t, session, putKey)
	if !stays(t, session, peek[0]) {
		t.Errorf("Peek did not wait for the second element")
	}
	mustDo(t, session, clear)
	mustDo(t, session, clearMap)
	for _, op := range []*tfbridge.Operation{put, putKey} {
		mustDo(t, session, op)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := session.RunContext(ctx, nil, nil, []*tfbridge.Operation{op}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v at a full area: got %v", op.Name(), err)
		}
		cancel()
	}
	mustDo(t, session, clear)
	ended := make(chan error)
	go func() {
		_, err := session.Run(nil, get, nil)
		ended <- err
	}()
	for mustFetch(t, session, waiting)[0] == int32(0) {
		runtime.Gosched()
	}
	if err := session.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-ended; !errors.Is(err, millrace.ErrClosed) {
		t.Errorf("the waiting run ended with %v", err)
	}
}

// Concurrent puts and gets pass each element exactly once through an area that is
// nearly always full or empty.
func TestStagingAreaConcurrent(t *testing.T) {
	const workers, each = 3, 20
	s := graphtest.NewScope(t)
	a := queue.NewStagingArea(s, []graph.Spec{number}, &queue.StagingOptions{Capacity: 2})
	value := s.Placeholder(tfbridge.Int64, tfbridge.ScalarShape())
	put, get := a.Put(s, value), a.Get(s)
	session := graphtest.NewSession(t, s, nil)
	var group sync.WaitGroup
	taken := make(chan int64, workers*each)
	for w := range int64(workers) {
		group.Go(func() {
			for i := range int64(each) {
				if err := feed(t, session, value, w*each+i, put); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for range each {
				out, err := fetch(t, session, get...)
				if err != nil {
					t.Error(err)
					return
				}
				taken <- out[0].(int64)
			}
		})
	}
	group.Wait()
	close(taken)
	seen := map[int64]bool{}
	for v := range taken {
		seen[v] = true
	}
	if len(seen) != workers*each {
		t.Errorf("%d different elements came out, want %d", len(seen), workers*each)
	}
}

// A map returns elements by key, in any order, or by the smallest key.
func TestMapStagingArea(t *testing.T) {
	s := graphtest.NewScope(t)
	a := queue.NewMapStagingArea(s, []graph.Spec{word}, &queue.StagingOptions{Ordered: true})
	key := s.Placeholder(tfbridge.Int64, tfbridge.Shape{})
	put := a.Put(s, key, s.Const("a"))
	two, peek, size := a.Get(s, s.Const(int64(2))), a.Peek(s, s.Const(int64(1))), a.Size(s)
	least, values := a.PopItem(s)
	clear := a.Clear(s)
	session := graphtest.NewSession(t, s, nil)
	for _, k := range []int64{3, 1, 2} {
		if err := feed(t, session, key, k, put); err != nil {
			t.Fatal(err)
		}
	}
	mustFetch(t, session, two...)
	mustFetch(t, session, peek...)
	if diff := cmp.Diff([]any{int64(1), "a"}, mustFetch(t, session, least, values[0])); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := feed(t, session, key, int64(2), put); err != nil {
		t.Errorf("a key that was taken cannot be put again: %v", err)
	}
	if got := mustFetch(t, session, size)[0]; got != int32(2) {
		t.Errorf("the size is %v, want 2", got)
	}
	mustDo(t, session, clear)
	if err := feed(t, session, key, int64(2), put); err != nil {
		t.Errorf("a key cannot be put after Clear: %v", err)
	}
	if err := feed(t, session, key, []int64{}, put); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("an empty key: got %v, want code InvalidArgument", err)
	}
}

// The memory limit counts the bytes of all elements, and refuses one that can never
// fit.
func TestStagingMemoryLimit(t *testing.T) {
	s := graphtest.NewScope(t)
	open := graph.Spec{DType: tfbridge.Int64, Shape: tfbridge.MakeShape(-1)}
	a := queue.NewStagingArea(s, []graph.Spec{open}, &queue.StagingOptions{MemoryLimit: 32})
	text := queue.NewStagingArea(s, []graph.Spec{word}, &queue.StagingOptions{MemoryLimit: 30})
	value := s.Placeholder(tfbridge.Int64, tfbridge.MakeShape(-1))
	waiting := waitingAt(s, a.Name())
	put, get := a.Put(s, value), a.Get(s)
	short, long := text.Put(s, s.Const("123456")), text.Put(s, s.Const("1234567"))
	session := graphtest.NewSession(t, s, nil)
	for _, list := range [][]int64{{1, 2, 3}, {4}} {
		if err := feed(t, session, value, list, put); err != nil {
			t.Fatal(err)
		}
	}
	woken := make(chan error)
	go func() { woken <- feed(t, session, value, []int64{5}, put) }()
	for mustFetch(t, session, waiting)[0] == int32(0) {
		runtime.Gosched()
	}
	if diff := cmp.Diff([]any{[]int64{1, 2, 3}}, mustFetch(t, session, get...)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := <-woken; err != nil {
		t.Errorf("the put that waited for memory: %v", err)
	}
	if err := feed(t, session, value, []int64{1, 2, 3, 4, 5}, put); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("40 bytes: got %v, want code InvalidArgument", err)
	}
	mustDo(t, session, short)
	if err := do(t, session, long); !errors.Is(err, tfbridge.InvalidArgument) {
		t.Errorf("31 bytes: got %v, want code InvalidArgument", err)
	}
}

// Arguments that cannot work are refused while building, in an error with the area's
// name.
func TestRefusedStagingAreas(t *testing.T) {
	one := []graph.Spec{number}
	tests := []struct {
		name, want string
		build      func(s *graph.Scope)
	}{
		{"capacity", "Capacity is -1", func(s *graph.Scope) {
			queue.NewStagingArea(s, one, &queue.StagingOptions{SharedName: "mine", Capacity: -1})
		}},
		{"memory limit", "MemoryLimit is -1", func(s *graph.Scope) {
			queue.NewMapStagingArea(s, one, &queue.StagingOptions{SharedName: "mine", MemoryLimit: -1})
		}},
		{"components", "there are no components", func(s *graph.Scope) {
			queue.NewStagingArea(s, nil, &queue.StagingOptions{SharedName: "mine"})
		}},
		{"value", "is of type int64, got string", func(s *graph.Scope) {
			queue.NewStagingArea(s, one, &queue.StagingOptions{SharedName: "mine"}).Put(s, s.Const("a"))
		}},
		{"index", "the index is int64[], must be a scalar int32", func(s *graph.Scope) {
			queue.NewStagingArea(s, one, &queue.StagingOptions{SharedName: "mine"}).Peek(s, s.Const(int64(1)))
		}},
		{"key", "the key is int32[], must be a scalar int64", func(s *graph.Scope) {
			queue.NewMapStagingArea(s, one, &queue.StagingOptions{SharedName: "mine"}).Get(s, s.Const(int32(1)))
		}},
		{"name", `no component is called "x"`, func(s *graph.Scope) {
			a := queue.NewMapStagingArea(s, one, &queue.StagingOptions{SharedName: "mine"})
			a.FromMap(s, map[string]tfbridge.Output{"number": s.Const(int64(1)), "x": s.Const("a")})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := graphtest.NewScope(t)
			tt.build(s)
			if err := s.Err(); !errors.Is(err, millrace.ErrModel) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), `"mine"`) {
				t.Errorf("got %v, want %s and the name", err, tt.want)
			}
		})
	}
}
