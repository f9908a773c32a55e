package dataset_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
)

func TestFeed(t *testing.T) {
	f := dataset.NewFeed[int64](&dataset.FeedOptions{Buffer: 2})
	go func() {
		for i := range int64(100) {
			if err := f.Push(t.Context(), i); err != nil {
				t.Error(err)
			}
		}
		f.Close()
	}()
	got := all(t, dataset.FromFeed(newScope(t), f, nil))
	if len(got) != 100 || got[99] != int64(99) {
		t.Errorf("got %v", got)
	}
}

func TestFeedEnds(t *testing.T) {
	f := dataset.NewFeed[int64](&dataset.FeedOptions{Buffer: 1})
	if err := f.Push(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	isClass(t, f.Push(ctx, 2), millrace.ErrCanceled)
	waiting := make(chan error)
	go func() { waiting <- f.Push(t.Context(), 3) }()
	for range 2 {
		if err := f.CloseWithError(errOwn); err != nil {
			t.Error(err)
		}
	}
	isClass(t, <-waiting, millrace.ErrClosed)
	isClass(t, f.Push(t.Context(), 4), millrace.ErrClosed)
	got, err := tryAll(t, dataset.FromFeed(newScope(t), f, nil))
	if diff := cmp.Diff(values(1), got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	isClass(t, err, millrace.ErrIO)
}

// Closing a feed ends every dataset that waits for an element.
func TestFeedEndsForAll(t *testing.T) {
	const readers = 3
	f := dataset.NewFeed[int64](nil)
	ends := make(chan error)
	for range readers {
		d := dataset.FromFeed(newScope(t), f, nil)
		go func() {
			_, err := dataset.ToSlice[int64](t.Context(), d, nil)
			ends <- err
		}()
	}
	waiting := func() int {
		stacks := make([]byte, 1<<20)
		return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "Feed[...]).pop(")
	}
	for waiting() < readers {
		runtime.Gosched()
	}
	if err := f.CloseWithError(errOwn); err != nil {
		t.Fatal(err)
	}
	for range readers {
		isClass(t, <-ends, millrace.ErrIO)
	}
}

func TestFeedDropsOldest(t *testing.T) {
	f := dataset.NewFeed[int64](&dataset.FeedOptions{Buffer: 3, DropOldest: true})
	for i := range int64(10) {
		if err := f.Push(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	isClass(t, f.Push(t.Context(), 10), millrace.ErrClosed)
	if f.Dropped() != 7 {
		t.Errorf("%d dropped, want 7", f.Dropped())
	}
	if diff := cmp.Diff(values(7, 8, 9), all(t, dataset.FromFeed(newScope(t), f, nil))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// threads returns how many threads the process has.
func threads(t *testing.T) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip(err)
	}
	return len(tasks)
}

// maxThreads is the number of threads that block in TensorFlow at a time, and a margin.
const maxThreads = 64 + 32

// Ten thousand goroutines push at once, and all are served.
func TestManyPushes(t *testing.T) {
	before := threads(t)
	f := dataset.NewFeed[int64](&dataset.FeedOptions{Buffer: 4})
	var wg sync.WaitGroup
	for i := range int64(many) {
		wg.Go(func() {
			if err := f.Push(t.Context(), i); err != nil {
				t.Error(err)
			}
		})
	}
	go func() {
		wg.Wait()
		f.Close()
	}()
	seen := map[any]bool{}
	for _, v := range all(t, dataset.FromFeed(newScope(t), f, nil)) {
		seen[v] = true
	}
	if len(seen) != many {
		t.Errorf("%d elements, want %d", len(seen), many)
	}
	if more := threads(t) - before; more > maxThreads {
		t.Errorf("%d threads more than before, at most %d are right", more, maxThreads)
	}
}

// Ten thousand sequences of one iterator are read at once.
func TestManySequences(t *testing.T) {
	before := threads(t)
	s := newScope(t)
	sequence := func(s *graph.Scope, _ outs) *dataset.Dataset {
		return dataset.FromSeq(s, counting(2), &dataset.SeqOptions{Buffer: 1})
	}
	d := dataset.Range(s, 0, 10, 1).Interleave("sequences", func(s *graph.Scope, _ outs) *dataset.Dataset {
		return dataset.Range(s, 0, many/10, 1).Interleave("sequence", sequence, &dataset.InterleaveOptions{CycleLength: many / 10})
	}, &dataset.InterleaveOptions{CycleLength: 10})
	sums, most := [2]int{}, 0
	n := 0
	for _, v := range all(t, d.Batch(many, false)) {
		for _, x := range v.([]int64) {
			sums[x]++
			n++
		}
		most = max(most, threads(t)-before)
	}
	if sums != [2]int{many, many} {
		t.Errorf("got %v of each, want %d", sums, many)
	}
	if most > maxThreads {
		t.Errorf("%d threads more than before, at most %d are right", most, maxThreads)
	}
}

// A feed whose producer closes it in the middle of an element does not return half an
// element.
func TestFeedFromProducer(t *testing.T) {
	f := dataset.NewFeed[[]string](nil)
	go func() {
		f.Push(t.Context(), []string{"a", "b"})
		f.CloseWithError(fmt.Errorf("connection cut: %w", context.DeadlineExceeded))
	}()
	got, err := tryAll(t, dataset.FromFeed(newScope(t), f, nil))
	if diff := cmp.Diff([]any{[]string{"a", "b"}}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	isClass(t, err, millrace.ErrTransient)
	if !strings.Contains(fmt.Sprint(err), "record 1: connection cut") {
		t.Errorf("got %v", err)
	}
}

func TestNilAndZeroFeeds(t *testing.T) {
	for name, f := range map[string]*dataset.Feed[int64]{"nil": nil, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			isClass(t, f.Push(t.Context(), 1), millrace.ErrClosed)
			if err := f.Close(); err != nil || f.Dropped() != 0 {
				t.Errorf("closed: %v, dropped %d", err, f.Dropped())
			}
			_, err := tryAll(t, dataset.FromFeed(newScope(t), f, nil))
			isClass(t, err, millrace.ErrClosed)
		})
	}
}

func TestNilContexts(t *testing.T) {
	var none context.Context
	f := dataset.NewFeed[int64](nil)
	isClass(t, f.Push(none, 1), millrace.ErrConfig)
	_, err := dataset.First[int64](none, dataset.Range(newScope(t), 0, 3, 1), nil)
	isClass(t, err, millrace.ErrConfig)
	isClass(t, dataset.Range(newScope(t), 0, 3, 1).Save(none, t.TempDir(), nil), millrace.ErrConfig)
}
