package tfbridge

import (
	"context"
	"fmt"
	"testing"
)

// A repeated run costs an allocation for each fetched tensor, and one for the list of
// them. RunInto takes the list from the caller.
func TestRunAllocations(t *testing.T) {
	if stress || underRace {
		t.Skip("the collector and the race detector make allocations of their own")
	}
	b := newBuild(t)
	x := b.placeholder("x", Float, MakeShape(-1))
	y, z := b.out("Neg", "y", nil, x), b.out("Square", "z", nil, x)
	s := b.session()
	feeds, fetches := map[Output]*Tensor{x: b.tensor([]float32{1, 2})}, []Output{y, z}
	c, err := s.Prepare([]Output{x}, fetches, nil)
	if err != nil {
		t.Fatal(err)
	}
	values, out := []*Tensor{feeds[x]}, make([]*Tensor, 2)
	for name, tt := range map[string]struct {
		run  func() ([]*Tensor, error)
		want float64
	}{
		"Session.Run":      {func() ([]*Tensor, error) { return s.Run(feeds, fetches, nil) }, 3},
		"Callable.RunInto": {func() ([]*Tensor, error) { return out, c.RunInto(context.Background(), values, out) }, 2},
	} {
		got := testing.AllocsPerRun(50, func() {
			out, err := tt.run()
			if err != nil {
				t.Fatal(err)
			}
			closeAll(out)
		})
		if got > tt.want {
			t.Errorf("%s makes %v allocations, want %v", name, got, tt.want)
		}
	}
}

// A session keeps a limited number of prepared runs. More different runs still give the
// right results.
func TestManyDifferentRuns(t *testing.T) {
	b := newBuild(t)
	s := b.session()
	for i := range maxPlans + 10 {
		c := b.constant(fmt.Sprintf("c%d", i), int32(i))
		for range 2 {
			if got := run1(t, s, nil, c); got != int32(i) {
				t.Errorf("constant %d is %v", i, got)
			}
		}
	}
	if n := len(s.planner.plans); n > maxPlans {
		t.Errorf("%d plans are kept", n)
	}
}
