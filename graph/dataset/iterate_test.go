package dataset_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace"
	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

func TestAllStartsAnew(t *testing.T) {
	s := newScope(t)
	elements := dataset.Range(s, 0, 3, 1).All(t.Context(), nil)
	ops := len(s.Graph().Operations())
	for range 2 {
		var got []any
		for element, err := range elements {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, valueOf(element))
			if len(got) == 2 {
				break
			}
		}
		if diff := cmp.Diff(values(0, 1), got); diff != "" {
			t.Errorf("elements (-want +got)\n%s", diff)
		}
	}
	if n := len(s.Graph().Operations()); n != ops {
		t.Errorf("%d operations added by ranging", n-ops)
	}
}

func TestAllWithFeeds(t *testing.T) {
	s := newScope(t)
	names := s.Placeholder(tfbridge.String, tfbridge.MakeShape(-1))
	fed, err := tfbridge.NewTensor([]string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	defer fed.Close()
	var got []any
	for element, err := range dataset.FromSlices(s, names).All(t.Context(), &dataset.IterateOptions{
		Session: &tfbridge.SessionOptions{IntraOpThreads: 1},
		Feeds:   map[tfbridge.Output]*tfbridge.Tensor{names: fed},
	}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, valueOf(element))
	}
	if diff := cmp.Diff([]any{"a", "b"}, got); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
}

func TestElementsAreClosed(t *testing.T) {
	s := newScope(t)
	var before *tfbridge.Tensor
	for element, err := range dataset.Range(s, 0, 3, 1).All(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if before != nil {
			if _, err := tfbridge.View[int64](before); !errors.Is(err, millrace.ErrClosed) {
				t.Errorf("element of the iteration before: %v", err)
			}
		}
		before = element[0]
	}
}

func TestCanceled(t *testing.T) {
	s := newScope(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("enough")
	n := 0
	var last error
	for _, err := range dataset.Range(s, 0, 1000, 1).Repeat(-1).All(ctx, nil) {
		if last != nil {
			t.Fatal("an iteration after the error")
		}
		last = err
		if n++; n == 3 {
			cancel(why)
		}
	}
	if !errors.Is(last, millrace.ErrCanceled) || !errors.Is(last, why) || n != 4 {
		t.Errorf("error after %d iterations: %v", n, last)
	}
}

func TestCanceledWhileReading(t *testing.T) {
	// No element ever passes the filter: only closing the session ends the call.
	s := newScope(t)
	ctx, cancel := context.WithCancel(t.Context())
	started := dataset.Range(s, 0, 1, 1).Repeat(-1).Filter("none", never)
	done := make(chan error)
	go func() {
		for _, err := range started.All(ctx, nil) {
			done <- err
		}
	}()
	cancel()
	if err := <-done; !errors.Is(err, millrace.ErrCanceled) || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func never(s *graph.Scope, args []tfbridge.Output) tfbridge.Output {
	return s.Const(false)
}
