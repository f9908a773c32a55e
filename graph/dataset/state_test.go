package dataset_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"millrace/graph"
	"millrace/graph/dataset"
	"millrace/tfbridge"
)

// running is an iterator in a session.
type running struct {
	t    testing.TB
	it   *dataset.Iterator
	sess *tfbridge.Session
}

// start builds a dataset in a new graph and starts an iterator over it.
func start(t testing.TB, build func(s *graph.Scope) *dataset.Dataset) *running {
	t.Helper()
	s := newScope(t)
	it := build(s).Iterator("it")
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sess.Close() })
	r := &running{t: t, it: it, sess: sess}
	r.init()
	return r
}

func (r *running) init() {
	r.t.Helper()
	if _, err := r.sess.Run(nil, nil, []*tfbridge.Operation{r.it.Init}); err != nil {
		r.t.Fatal(err)
	}
}

// next returns up to n elements, fewer at the end.
func (r *running) next(n int) []any {
	r.t.Helper()
	return r.fetch(n, r.it.Element)
}

// parts is next with the tensors that sparse and ragged components represent.
func (r *running) parts(n int) []any {
	r.t.Helper()
	return r.fetch(n, r.it.Parts)
}

func (r *running) fetch(n int, next outs) []any {
	r.t.Helper()
	elements := []any{}
	for range n {
		element, err := r.sess.Run(nil, next, nil)
		if errors.Is(err, tfbridge.OutOfRange) {
			break
		}
		if err != nil {
			r.t.Fatal(err)
		}
		elements = append(elements, valueOf(element))
		for _, component := range element {
			component.Close()
		}
	}
	return elements
}

// pipeline shuffles, interleaves with functions within functions, checks,
// shuffles again, repeats, and batches.
func pipeline(parallel int64) func(s *graph.Scope) *dataset.Dataset {
	return func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, 0, 4, 1).
			Shuffle(4, &dataset.ShuffleOptions{Seed: 7}).
			Interleave("files", func(s *graph.Scope, args outs) *dataset.Dataset {
				return threeOf(s, args).AssertCardinality(s.Const(int64(3)))
			}, &dataset.InterleaveOptions{CycleLength: 3, Parallel: parallel, InBuffer: 1, OutBuffer: 2}).
			Map("check", func(s *graph.Scope, args outs) outs {
				graph.Assert(s, graph.Less(s, args[0], s.Const(int64(1000))), args, nil)
				return args
			}, &dataset.MapOptions{Parallel: parallel}).
			Shuffle(5, &dataset.ShuffleOptions{Seed: 9}).
			Repeat(3).
			Batch(7, false).
			Rebatch(5, false).
			Prefetch(2).
			WithOptions(nil)
	}
}

func TestSaveAndRestore(t *testing.T) {
	for _, parallel := range []int64{0, 2} {
		t.Run(fmt.Sprint(parallel), func(t *testing.T) {
			whole := start(t, pipeline(parallel)).next(100)
			if len(whole) != 8 { // 36 elements make 8 batches
				t.Fatalf("%d batches", len(whole))
			}
			first, second := start(t, pipeline(parallel)), start(t, pipeline(parallel))
			for n := 0; ; n++ {
				state, err := first.it.SaveState(t.Context(), first.sess)
				if err != nil {
					t.Fatal(err)
				}
				if err := second.it.RestoreState(t.Context(), second.sess, state); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(whole[n:], second.next(100)); diff != "" {
					t.Errorf("rest after %d batches (-want +got)\n%s", n, diff)
				}
				if len(first.next(1)) == 0 {
					return
				}
			}
		})
	}
}

func TestInitStartsAnew(t *testing.T) {
	r := start(t, pipeline(0))
	whole := r.next(100)
	r.init()
	if diff := cmp.Diff(whole, r.next(100)); diff != "" {
		t.Errorf("second time (-first +second)\n%s", diff)
	}
	if _, err := r.sess.Run(nil, nil, []*tfbridge.Operation{r.it.Destroy}); err != nil {
		t.Error(err)
	}
}

func TestUnsavable(t *testing.T) {
	r := start(t, func(s *graph.Scope) *dataset.Dataset {
		return dataset.Range(s, 0, 4, 1).Map("random", func(s *graph.Scope, args outs) outs {
			return s.Op("RandomUniform", map[string]any{"dtype": tfbridge.Float}, s.Const([]int32{1}))
		}, nil)
	})
	if _, err := r.it.SaveState(t.Context(), r.sess); !errors.Is(err, tfbridge.FailedPrecondition) || !strings.Contains(err.Error(), "save iterator") {
		t.Errorf("error %v", err)
	}
}

func TestRestoreOfNothing(t *testing.T) {
	r := start(t, pipeline(0))
	for _, state := range []string{"", "x", strings.Repeat("\xff", 100)} {
		if err := r.it.RestoreState(t.Context(), r.sess, []byte(state)); err == nil {
			t.Errorf("state %q was restored", state)
		}
	}
	r.init()
	if n := len(r.next(100)); n != 8 {
		t.Errorf("%d batches after failed restores", n)
	}
}

func TestTwoIterators(t *testing.T) {
	s := newScope(t)
	d := dataset.Range(s, 0, 3, 1)
	a, b := d.Iterator("it"), d.Map("double", double, nil).Iterator("it")
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	ra, rb := &running{t, a, sess}, &running{t, b, sess}
	ra.init()
	rb.init()
	got := [][]any{ra.next(2), rb.next(5), ra.next(5)}
	if diff := cmp.Diff([][]any{values(0, 1), values(0, 2, 4), values(2)}, got); diff != "" {
		t.Errorf("elements (-want +got)\n%s", diff)
	}
}

func TestNextInline(t *testing.T) {
	s := newScope(t)
	it := dataset.Range(s, 0, 4, 1).Map("double", double, nil).Iterator("it")
	inline := it.NextInline()
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	sess, err := tfbridge.NewSession(s.Graph(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sess.Close()
	r := &running{t, it, sess}
	r.init()
	next, err := sess.Prepare(nil, inline, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := r.next(1)
	for {
		element, err := next.Inline().Run(t.Context(), nil)
		if errors.Is(err, tfbridge.OutOfRange) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, valueOf(element))
		element[0].Close()
	}
	if diff := cmp.Diff(values(0, 2, 4, 6), got); diff != "" {
		t.Errorf("elements of both ways (-want +got)\n%s", diff)
	}
}
